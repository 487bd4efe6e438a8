internal import ErrandCore
internal import Synchronization

/// The joint decision of callers whose shared exchange failed. The callers take one token of each budget, and use one random number.
/// Callers with the same policy wait for the same time, so that their next attempts can also share an exchange.
///
/// The first caller takes the token and draws the random number. Each caller decides by its own policy, attempts, deadline and method.
final class SharedRetry: Sendable {
    private struct State: Sendable {
        var random: Double?
        /// Whether each budget had a token for the callers.
        var tokens: [ObjectIdentifier: Bool] = [:]
    }

    private let state = Mutex(State())

    func random(_ draw: () -> Double) -> Double {
        if let known = state.withLock(\.random) { return known }
        let drawn = draw()
        return state.withLock { state in
            let random = state.random ?? drawn
            state.random = random
            return random
        }
    }

    func withdraw(_ budget: RetryBudget, _ origin: Origin?) -> Bool {
        state.withLock { state in
            let hasToken = state.tokens[ObjectIdentifier(budget)] ?? budget.withdraw(origin)
            state.tokens[ObjectIdentifier(budget)] = hasToken
            return hasToken
        }
    }

    /// Returns the shared decision after a failed attempt; `nil` if the attempt's exchange was not shared.
    static func of(_ result: Result<Response, any Error>) -> SharedRetry? {
        switch result {
        case .success(let response): response.metadata[SharedRetryMetadataKey.self]
        case .failure(let error): (error as? TransportError)?.request?.options[SharedRetryOptionKey.self]
        }
    }
}

private enum SharedRetryMetadataKey: MetadataKey { static var defaultValue: SharedRetry? { nil } }
private enum SharedRetryOptionKey: OptionKey {
    static var defaultValue: SharedRetry? { nil }
    static func identity(of value: SharedRetry?) -> OptionIdentity { .ignored }
    static var crossesOrigins: Bool { true }
}

extension ResponseMetadata {
    var sharedRetry: SharedRetry? {
        get { self[SharedRetryMetadataKey.self] }
        set { self[SharedRetryMetadataKey.self] = newValue }
    }
}

extension RequestOptions {
    /// The shared decision. The decision is stored in the options of the failure's request, because a failure has no metadata.
    var sharedRetry: SharedRetry? {
        get { self[SharedRetryOptionKey.self] }
        set { self[SharedRetryOptionKey.self] = newValue }
    }
}
