/// The error for a request with an option that the stack or the transport can't apply. Nothing was sent.
///
/// Either the stack lacks the middleware that the option requires, or the transport lacks a required capability.
///
/// ```swift
/// var request = try Request(.get, "/reports")
/// request.options.hedge = .use(.standard)
/// try await transport.retry().send(request)     // throws: add hedge to the stack
/// ```
///
/// The options are checked once, when a call enters its outermost ``HTTPStack``. The transports of this library also check the capabilities
/// for a request that is sent without a stack. An option that is `.off` requires no middleware and no capability. If a stack sends requests
/// to a sender that is not a transport, the stack can't know the inner middleware and the transport. Therefore, a stack around this sender
/// never throws this error.
public struct UnsupportedOptionError: RequestFailure, NumberedFailure {
    /// The middleware or the capabilities that an option requires and the stack lacks.
    enum Missing: Sendable {
        case middleware(MiddlewarePlace)
        case capabilities(TransportCapabilities)
    }

    public var request: Request?
    /// The name of the option: the name of its key without `Key`, `Option` or `OptionKey` at the end, and with a lowercase first
    /// letter.
    public let option: String
    /// The place of the missing middleware; ``MiddlewarePlace/unplaced`` if the transport lacks a capability.
    public let missingMiddleware: MiddlewarePlace
    /// The capabilities that the option requires and the transport lacks; empty if a middleware is missing.
    public let missingCapabilities: TransportCapabilities
    public var attempts: [AttemptRecord] = []

    public var phase: ExchangePhase { .request }
    public var delivery: Delivery { attempts.delivery }

    init(_ key: any OptionKey.Type, missing: Missing, request: Request) {
        (option, self.request) = (Self.name(of: key), request)
        switch missing {
        case .middleware(let place): (missingMiddleware, missingCapabilities) = (place, [])
        case .capabilities(let capabilities): (missingMiddleware, missingCapabilities) = (.unplaced, capabilities)
        }
    }

    private static func name(of key: any OptionKey.Type) -> String {
        let key = String(describing: key)
        let suffix = ["OptionKey", "Option", "Key"].first { key.hasSuffix($0) && key != $0 } ?? ""
        let name = key.dropLast(suffix.count)
        // An acronym is lowercased as a whole: `HSTSOptionKey` is the key of `hsts`.
        let capitals = name.prefix(while: \.isUppercase).count
        let count = capitals == name.count || capitals < 2 ? capitals : capitals - 1
        return name.prefix(count).lowercased() + name.dropFirst(count)
    }

    /// The option, what the option needs, and what to do.
    public var description: String {
        "\(shownRequest)the option '\(option)' needs \(need): \(remedy), or do not set the option (not sent)"
    }

    public var failureNumber: FailureNumber { .unsupportedOption }
    /// The option, and what the option needs.
    public var failureReason: String? { "The option '\(option)' needs \(need)." }

    /// Returns the end of the remedy, which names a transport of this library with all of these capabilities; `nil` if there is no such
    /// transport.
    private static func holder(of capabilities: TransportCapabilities) -> String? {
        let holders: [(TransportCapabilities, String)] = [
            ([.networkAccess, .waitsForConnectivity, .serverTrust], "URLSessionTransport on Apple's platforms"),
            (.upgrades, "NIOTransport"),
        ]
        return holders.first { $0.0.isSuperset(of: capabilities) }.map { "it, such as \($0.1)" }
    }

    private var need: String {
        missingCapabilities.isEmpty
            ? "the middleware '\(missingMiddleware)', which the stack does not have"
            : "a transport with '\(missingCapabilities)', which this transport does not have"
    }

    private var remedy: String {
        if !missingCapabilities.isEmpty { return "use a transport that has \(Self.holder(of: missingCapabilities) ?? "it")" }
        // The place of a third party's middleware does not have the name of a modifier.
        return missingMiddleware.description.contains(".")
            ? "add a middleware with that place to the stack" : "add .\(missingMiddleware) to the stack"
    }
}
