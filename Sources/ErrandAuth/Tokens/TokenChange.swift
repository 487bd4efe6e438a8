#if Auth
public import ErrandCore
internal import Synchronization

/// A change of the account of a ``TokenSource``.
public enum TokenChange: Sendable, CustomStringConvertible, HidesStorage {
    /// An account has signed in, or its token was loaded from the store. The value is the token.
    case signedIn(AccessToken)
    /// The account's token was refreshed. The value is the new token.
    case refreshed(AccessToken)
    /// Nobody is signed in. The error is `nil` if the app has signed out. If a server has refused a refresh, the error is the
    /// error of that refresh.
    case signedOut(because: (any Error)?)

    /// The change in words, without secrets.
    public var description: String {
        switch self {
        case .signedIn: "signed in"
        case .refreshed: "refreshed"
        case .signedOut(let error): "signed out" + (error.map { ": \(safeDescription(of: $0))" } ?? "")
        }
    }
}

/// The observers of a ``TokenSource``. When the source is released, the sequences end.
final class TokenObservers: Sendable {
    private struct State: Sendable {
        var continuations: [Int: AsyncStream<TokenChange>.Continuation] = [:]
        var nextNumber = 0
    }

    /// The maximum number of changes kept for an observer that does not read. The newest changes are kept.
    private static let keptChanges = 16

    private let state = Mutex(State())

    deinit {
        for continuation in state.withLock({ Array($0.continuations.values) }) { continuation.finish() }
    }

    /// Returns a sequence of the later changes.
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
        // The continuation is released outside the lock.
        let removed = state.withLock { $0.continuations.removeValue(forKey: number) }
        _ = removed
    }

    func report(_ change: TokenChange) {
        for continuation in state.withLock({ Array($0.continuations.values) }) { continuation.yield(change) }
    }
}
#endif
