public import ErrandCore

/// Which redirects are followed, and what the next request is: a pure decision by RFC 9110, 15.4, and the Fetch standard.
///
/// 301, 302, 303, 307 and 308 with a `Location` are followed. 303 turns every method but HEAD into GET; 301 and 302 turn POST
/// alone; all others keep method and body, and where the body can't be sent again the response is given back.
///
/// Where the origin changes (scheme, host or port), every sensitive field is dropped, with `Origin`, `Referer`, `WWW-Authenticate`, `Host`
/// each default field that a ``ServerMiddleware`` with a base URL added, and each option that stays with its origin
/// (``ErrandCore/OptionKey/crossesOrigins``): one of your own, unless its key says otherwise. They stay dropped on later hops.
public struct RedirectPolicy: Sendable, Hashable, CustomStringConvertible {
    /// How many redirects are followed in one call: 20.
    public var maxHops: Int
    /// Whether a redirect from https to http is followed: true, as in browsers and curl; without credentials in any case.
    public var allowsDowngrade: Bool

    public init(maxHops: Int = 20, allowsDowngrade: Bool = true) {
        precondition(maxHops >= 0, "maxHops must be at least 0 (is \(maxHops))")
        (self.maxHops, self.allowsDowngrade) = (maxHops, allowsDowngrade)
    }

    public static let standard = RedirectPolicy()

    public var description: String { "at most \(maxHops)" }

    /// What to do with a response.
    public enum Decision: Sendable {
        /// It is no redirect, or one that is the caller's to handle.
        case returnResponse
        case follow(Request)
    }

    /// - Parameter hops: how many redirects were followed already.
    /// - Throws: ``RedirectError``: too many hops, a `Location` that is no `http` or `https` URL, a downgrade that is not allowed.
    public func decision(for head: HTTPResponse, to request: Request, hops: Int) throws(RedirectError) -> Decision {
        guard Self.isRedirect(head), let location = head.headerFields[.location], let current = request.url else { return .returnResponse }
        func refused(_ reason: RedirectError.Reason) -> RedirectError { RedirectError(reason, request: request, head: head) }

        let target: HTTPURL
        do {
            target = try HTTPURL(try Self.target(of: location, from: URLReference(current)))
        } catch {
            throw refused(.invalidLocation(error))
        }
        if current.scheme == "https", target.scheme == "http", !allowsDowngrade { throw refused(.downgrade) }

        var next = request
        switch (head.status.code, request.method) {
        case (303, .get), (303, .head): break
        case (303, _), (301, .post), (302, .post):
            next.head.method = .get
            next.body = .empty
            next.head.headerFields = next.head.headerFields.without(Self.contentFields)
        default:
            guard request.body.isEmpty || request.body.replay.canRestart else { return .returnResponse }
        }
        guard hops < maxHops else { throw refused(.tooManyHops(maxHops)) }
        do {
            try next.setTarget(target.origin, checkedPath: target.target)
        } catch {
            throw refused(.invalidLocation(error))
        }
        // A template tells of the first path, not of where the server sends it.
        next.options.urlTemplate = nil
        if target.origin != current.origin {
            next.dropSensitiveFields()
            next.options.hasLeftOrigin = true
        }
        return .follow(next)
    }

    /// Whether a response asks to be followed.
    static func isRedirect(_ head: HTTPResponse) -> Bool {
        [301, 302, 303, 307, 308].contains(head.status.code) && head.headerFields[.location]?.isEmpty == false
    }

    /// Where a `Location` leads: resolved against the URL that was fetched, whose fragment it inherits if it has none
    /// (RFC 9110, 10.2.2).
    ///
    /// - Throws: ``InvalidURLError``.
    public static func target(of location: String, from url: URLReference) throws(InvalidURLError) -> URLReference {
        var target = try URLReference(location).resolved(against: url)
        if target.fragment == nil { target.fragment = url.fragment }
        return target
    }

    private static let contentFields: Set<HTTPField.Name> = [
        .contentEncoding, .contentLanguage, .contentLength, .contentLocation, .contentType, .transferEncoding,
    ]
}

extension Request {
    /// Without what must not reach another origin.
    fileprivate mutating func dropSensitiveFields() {
        let sensitivity = options.sensitivity
        let fieldsOfServer = options.fieldsOfServer
        func mayCross(_ field: HTTPField) -> Bool {
            !sensitivity.isSensitive(field) && ![.origin, .referer, .wwwAuthenticate, .host].contains(field.name)
                && !fieldsOfServer.contains(field.name)
        }
        head.headerFields = HTTPFields(head.headerFields.filter(mayCross))
        options.fallbackHeaders = HTTPFields(options.fallbackHeaders.filter(mayCross))
        options.removeOriginBoundOptions()
    }
}

extension HTTPFields {
    fileprivate func without(_ names: Set<HTTPField.Name>) -> HTTPFields { HTTPFields(filter { !names.contains($0.name) }) }
}

extension HTTPField.Name {
    fileprivate static let host = known("Host")
}

/// A redirect that can't be followed.
public struct RedirectError: RequestFailure {
    /// Why. An open set.
    public struct Reason: Sendable, CustomStringConvertible {
        public let description: String

        public static func tooManyHops(_ limit: Int) -> Reason { Reason(description: "more than \(limit) redirects") }
        public static func invalidLocation(_ error: InvalidURLError) -> Reason { Reason(description: "its Location is an \(error)") }
        public static let downgrade = Reason(description: "it leads from https to http")
    }

    public let reason: Reason
    /// The request that was redirected.
    public var request: Request?
    /// The redirect's head.
    public let head: HTTPResponse
    public var attempts: [AttemptRecord] = []

    public var response: HTTPResponse? { head }
    public var phase: ExchangePhase { .response }
    public var delivery: Delivery { .sent }

    init(_ reason: Reason, request: Request, head: HTTPResponse) {
        (self.reason, self.request, self.head) = (reason, request, head)
    }

    public var description: String {
        "\(request.map { "\($0): " } ?? "")the redirect (status \(head.status.code)) can't be followed: \(reason)"
    }
}

extension RedirectError: CustomReflectable {
    public var customMirror: Mirror { Mirror(self, children: ["failure": description]) }
}
