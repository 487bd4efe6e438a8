#if Auth
public import ErrandCore
internal import Synchronization

/// A change of the account of a ``TokenSource``.
public enum TokenChange: Sendable, CustomStringConvertible, HidesStorage {
    /// An account has signed in, or its token was loaded from the store.
    case signedIn(AccessToken)
    /// The token was replaced by a newer one of the same account.
    case refreshed(AccessToken)
    /// Nobody is signed in: the app has signed out, or, with an error, a refresh was refused.
    case signedOut(because: (any Error)?)

    /// The change in words, without secrets.
    public var description: String {
        switch self {
        case .signedIn: "signed in"
        case .refreshed: "refreshed"
        case .signedOut(let error): "signed out" + (error.map { ": \(shownError($0))" } ?? "")
        }
    }
}

/// The observers of a ``TokenSource``. When the source is gone, the sequences end.
final class TokenObservers: Sendable {
    private struct State: Sendable {
        var continuations: [Int: AsyncStream<TokenChange>.Continuation] = [:]
        var nextNumber = 0
    }

    /// The most changes that are kept for an observer that does not read: the newest.
    private static let keptChanges = 16

    private let state = Mutex(State())

    deinit {
        for continuation in state.withLock({ Array($0.continuations.values) }) { continuation.finish() }
    }

    /// Returns a sequence of the changes from now on.
    func changes() -> AsyncStream<TokenChange> {
        let (stream, continuation) = AsyncStream.makeStream(of: TokenChange.self, bufferingPolicy: .bufferingNewest(Self.keptChanges))
        let number = state.withLock { state in
            state.nextNumber += 1
            state.continuations[state.nextNumber] = continuation
            return state.nextNumber
        }
        continuation.onTermination = { [weak self] _ in self?.remove(number) }
        return stream
    }

    private func remove(_ number: Int) {
        // Released outside the lock.
        let removed = state.withLock { $0.continuations.removeValue(forKey: number) }
        _ = removed
    }

    func report(_ change: TokenChange) {
        for continuation in state.withLock({ Array($0.continuations.values) }) { continuation.yield(change) }
    }
}
#endif
