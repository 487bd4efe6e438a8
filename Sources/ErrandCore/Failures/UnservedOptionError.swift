/// A request has an option that no middleware of its stack serves: nothing was sent.
///
/// ```swift
/// var request = try Request(.get, "/reports")
/// request.options.hedge = .use(.standard)
/// try await transport.retry().send(request)     // throws: add hedge to the stack
/// ```
///
/// It is found once, where a call enters its outermost ``HTTPStack``. An option that is `.off` needs no middleware. A stack over a sender that is
/// not a transport can't know what serves below, and never fails with this.
public struct UnservedOptionError: RequestFailure {
    public var request: Request?
    /// The name of the option: that of its key, without `Key`, `Option` or `OptionKey` at the end, and with a lowercase first letter.
    public let option: String
    /// Where the middleware that is missing belongs.
    public let missing: MiddlewarePlace
    public var attempts: [AttemptRecord] = []

    public var phase: ExchangePhase { .request }
    public var delivery: Delivery { attempts.delivery }

    init(_ key: any OptionKey.Type, missing: MiddlewarePlace, request: Request) {
        (option, self.missing, self.request) = (Self.name(of: key), missing, request)
    }

    private static func name(of key: any OptionKey.Type) -> String {
        let key = String(describing: key)
        let suffix = ["OptionKey", "Option", "Key"].first { key.hasSuffix($0) && key != $0 } ?? ""
        let name = key.dropLast(suffix.count)
        return name.prefix(1).lowercased() + name.dropFirst()
    }

    /// The option, the middleware that it needs, and what to do.
    public var description: String {
        "\(request.map { "\($0): " } ?? "")the option '\(option)' needs the middleware '\(missing)', which the stack does not have: "
            + "\(remedy) to the stack, or do not set the option (not sent)"
    }

    /// A sentence for people.
    public var errorDescription: String? { "The request cannot be sent." }
    /// The option, and the middleware that it needs.
    public var failureReason: String? { "The option '\(option)' needs the middleware '\(missing)', which the stack does not have." }

    private var remedy: String {
        // The place of a third party's middleware is not the name of a modifier.
        missing.description.contains(".") ? "add a middleware with that place" : "add .\(missing)"
    }
}

extension UnservedOptionError: CustomReflectable {
    public var customMirror: Mirror { Mirror(self, children: ["failure": description]) }
}
