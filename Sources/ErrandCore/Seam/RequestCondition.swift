internal import ErrandFormats

/// A condition that decides to which requests a middleware applies. Combine conditions with `&&`, `||` and `!`.
///
/// ```swift
/// stack.wrapped(by: Signature(key), when: .host("*.example.com") && !.method(.get, .head))
/// ```
///
/// A condition gets the request in the form in which the request reaches the middleware. Outside `server`, the request has no
/// host yet.
public struct RequestCondition: Sendable, CustomStringConvertible {
    /// The condition as text, for the stack's description.
    public let description: String
    private let predicate: @Sendable (Request) -> Bool

    init(description: String, holds: @escaping @Sendable (Request) -> Bool) {
        (self.description, predicate) = (description, holds)
    }

    /// Returns a condition that holds if a closure returns true.
    ///
    /// - Parameters:
    ///   - description: the condition as text, for the stack's description.
    ///   - holds: returns whether the middleware applies to a request.
    public static func custom(_ description: String, _ holds: @escaping @Sendable (Request) -> Bool) -> RequestCondition {
        RequestCondition(description: description, holds: holds)
    }

    /// Returns a condition that holds for these hosts: at the given port (`localhost:8080`), or at any port if the text has no
    /// port.
    ///
    /// `*.example.com` matches every name below `example.com`, but not `example.com` itself. Case does not matter. An IPv6 address may have
    /// brackets. A name may be in Unicode or in its ASCII form.
    ///
    /// - Precondition: each text is a host name or an address, with or without a port.
    public static func host(_ hosts: String...) -> RequestCondition {
        let wanted = hosts.map { HostPattern($0) }
        return RequestCondition(description: "host \(hosts.joined(separator: " or "))") { request in
            guard let origin = request.origin else { return false }
            return wanted.contains { $0.matches(origin) }
        }
    }

    /// Returns a condition that holds for these methods.
    public static func method(_ methods: HTTPRequest.Method...) -> RequestCondition {
        RequestCondition(description: "method \(methods.map(\.rawValue).joined(separator: " or "))") { methods.contains($0.method) }
    }

    /// Returns a condition that holds for paths that match a pattern. The path is percent-encoded and without its query.
    ///
    /// - Parameter pattern: literal segments, `{name}` for any single segment that is not empty, and a final `**` for any number
    ///   of segments.
    public static func path(_ pattern: String) -> RequestCondition {
        let path = PathPattern(pattern)
        return RequestCondition(description: "path \(pattern)") { request in
            path.values(in: request.path) != nil
        }
    }

    /// Returns a condition that holds if both conditions hold.
    public static func && (first: RequestCondition, second: RequestCondition) -> RequestCondition {
        RequestCondition(description: "\(first) and \(second)") { first.isMet(by: $0) && second.isMet(by: $0) }
    }

    /// Returns a condition that holds if at least one of the conditions holds.
    public static func || (first: RequestCondition, second: RequestCondition) -> RequestCondition {
        RequestCondition(description: "(\(first) or \(second))") { first.isMet(by: $0) || second.isMet(by: $0) }
    }

    /// Returns a condition that holds if `condition` does not hold.
    public static prefix func ! (condition: RequestCondition) -> RequestCondition {
        RequestCondition(description: "not (\(condition))") { !condition.isMet(by: $0) }
    }

    /// Returns whether the condition holds for a request.
    public func isMet(by request: Request) -> Bool { predicate(request) }
}

extension HTTPSender {
    /// Wraps this sender with `middleware` for the requests that meet `condition`. Other requests bypass the middleware.
    ///
    /// ```swift
    /// stack.wrapped(by: Signature(key), when: .host("*.example.com"))
    /// ```
    public func wrapped(by middleware: some HTTPMiddleware, when condition: RequestCondition) -> HTTPStack {
        wrapped(by: Conditional(middleware: middleware, condition: condition))
    }

    /// Wraps this sender with several middleware. As in a chain of modifiers, each middleware wraps the middleware that you
    /// write above it. The last middleware is the outermost layer.
    ///
    /// ```swift
    /// let stack = transport.wrapped {
    ///     if isVerbose { LogMiddleware(logger) }      // each attempt
    ///     RetryMiddleware()
    ///     TimeoutMiddleware(.seconds(30))             // the whole call
    /// }
    /// ```
    public func wrapped(@MiddlewareBuilder by middleware: () -> [any HTTPMiddleware]) -> HTTPStack {
        HTTPStack(self).adding(middleware().map { LayerEntry(of: $0) })
    }
}

private struct HostPattern: Sendable {
    private let host: String
    private let isForNamesBelow: Bool
    private let port: Int?

    init(_ text: String) {
        isForNamesBelow = text.hasPrefix("*.")
        let name = isForNamesBelow ? text.dropFirst(2) : text[...]
        guard let url = try? HTTPURL("https://\(Host.isIPv6(name) ? "[\(name)]" : name)"), url.path.isEmpty, url.query == nil else {
            preconditionFailure("hosts must be names or addresses, with or without a port (one is '\(text)')")
        }
        host = (isForNamesBelow ? "." : "") + url.host
        let afterAddress = name.hasPrefix("[") ? name.drop { $0 != "]" } : name
        port = !Host.isIPv6(name) && afterAddress.contains(":") ? url.effectivePort : nil
    }

    func matches(_ origin: Origin) -> Bool {
        (isForNamesBelow ? origin.host.hasOctetSuffix(host) : origin.host == host) && (port ?? origin.effectivePort) == origin.effectivePort
    }
}

/// A middleware that some requests bypass.
protocol ConditionalMiddleware: HTTPMiddleware {
    /// Returns a middleware that uses `other` for the requests that do not meet the condition.
    func replacing(_ other: any HTTPMiddleware) -> any HTTPMiddleware
}

private struct Conditional<Middleware: HTTPMiddleware>: ConditionalMiddleware {
    let middleware: Middleware
    let condition: RequestCondition

    func replacing(_ other: any HTTPMiddleware) -> any HTTPMiddleware {
        func pair(_ other: some HTTPMiddleware) -> any HTTPMiddleware {
            Alternative(condition: condition, middleware: middleware, other: other)
        }
        return pair(other)
    }

    var place: MiddlewarePlace { middleware.place }
    var supportedPlaces: Set<MiddlewarePlace> { middleware.supportedPlaces }
    var neighbors: [MiddlewareNeighbor] { middleware.neighbors }
    var label: String { "\(middleware.label) when \(condition)" }
    var mayBypassInnerLayers: Bool { middleware.mayBypassInnerLayers }
    var appliesToPreparedRequests: Bool { middleware.appliesToPreparedRequests }

    func send(_ request: Request, to next: some HTTPSender) async throws -> Response {
        condition.isMet(by: request) ? try await middleware.send(request, to: next) : try await next.send(request)
    }
}

/// A default middleware that conditional middleware of the app has replaced for some requests.
protocol AlternativeMiddleware: HTTPMiddleware {
    /// The conditional middleware without the default middleware, innermost first.
    var conditionals: [any HTTPMiddleware] { get }
}

/// A middleware for the requests that meet a condition, and a default middleware for all other requests.
private struct Alternative<Middleware: HTTPMiddleware, Other: HTTPMiddleware>: AlternativeMiddleware {
    let condition: RequestCondition
    let middleware: Middleware
    let other: Other

    var conditionals: [any HTTPMiddleware] {
        ((other as? any AlternativeMiddleware)?.conditionals ?? []) + [Conditional(middleware: middleware, condition: condition)]
    }

    var place: MiddlewarePlace { middleware.place }
    var supportedPlaces: Set<MiddlewarePlace> { middleware.supportedPlaces.intersection(other.supportedPlaces) }
    var neighbors: [MiddlewareNeighbor] { middleware.neighbors }
    var label: String { "\(middleware.label) when \(condition), else \(other.label)" }
    var mayBypassInnerLayers: Bool { middleware.mayBypassInnerLayers || other.mayBypassInnerLayers }
    var appliesToPreparedRequests: Bool { middleware.appliesToPreparedRequests || other.appliesToPreparedRequests }

    func send(_ request: Request, to next: some HTTPSender) async throws -> Response {
        condition.isMet(by: request) ? try await middleware.send(request, to: next) : try await other.send(request, to: next)
    }
}

/// A builder of a list of middleware from statements. `if`, `switch` and `for` select middleware.
@resultBuilder
public enum MiddlewareBuilder {
    public static func buildExpression(_ middleware: some HTTPMiddleware) -> [any HTTPMiddleware] { [middleware] }
    public static func buildExpression(_ middleware: [any HTTPMiddleware]) -> [any HTTPMiddleware] { middleware }
    public static func buildBlock(_ parts: [any HTTPMiddleware]...) -> [any HTTPMiddleware] { parts.flatMap { $0 } }
    public static func buildOptional(_ part: [any HTTPMiddleware]?) -> [any HTTPMiddleware] { part ?? [] }
    public static func buildEither(first part: [any HTTPMiddleware]) -> [any HTTPMiddleware] { part }
    public static func buildEither(second part: [any HTTPMiddleware]) -> [any HTTPMiddleware] { part }
    public static func buildArray(_ parts: [[any HTTPMiddleware]]) -> [any HTTPMiddleware] { parts.flatMap { $0 } }
    public static func buildLimitedAvailability(_ part: [any HTTPMiddleware]) -> [any HTTPMiddleware] { part }
}
