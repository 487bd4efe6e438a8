public import ErrandCore
internal import ErrandFormats

/// Decides which redirects are followed, and what the next request is. The decision follows [RFC 9110, section
/// 15.4](https://www.rfc-editor.org/rfc/rfc9110#section-15.4), and the [Fetch
/// standard](https://fetch.spec.whatwg.org/#http-redirect-fetch).
///
/// Responses with the status 301, 302, 303, 307 or 308 and a `Location` are followed. After 303, every method except HEAD becomes
/// GET. After 301 and 302, only POST becomes GET. In all other cases, the method and the body are kept. If the body can't be sent
/// again, the redirect is returned.
///
/// If the origin (scheme, host or port) changes, the following parts are removed for this hop and all later hops:
///
/// - every sensitive field
/// - `Origin`, `Referer`, `WWW-Authenticate` and `Host`
/// - each default field that a ``ServerMiddleware`` with a base URL added
/// - each option that is bound to its origin (``/ErrandCore/OptionKey/crossesOrigins``). Your own options are bound, unless their keys
///   allow other origins
///
/// A redirect from https to http is refused by default. Without https, other devices on the network can read the request, and can change
/// the response. If the layer `hsts` knows that the host of the target demands https, the scheme becomes https before the origins are
/// compared. With the changed scheme, the redirect stays on https, and is not refused.
///
/// A redirect loop ends the call early: a call sends one request (one method and URL) at most twice. A response with `Set-Cookie` restarts
/// the count of equal requests, because a page that needs a cookie often redirects to itself. A redirect that the app's own decision
/// changes restarts the count too.
///
/// With ``deciding(_:)``, your own closure decides about each redirect.
public struct RedirectPolicy: Sendable, Hashable, CustomStringConvertible {
    /// The largest number of redirects in one call: at least 0, 20 by default.
    public var maxHops: Int
    /// Whether a redirect from https to http is followed: false by default. Browsers and curl follow redirects to http. Credentials are
    /// always removed.
    public var allowsDowngrade: Bool
    /// The app's own decision; `nil` if the app does not decide.
    var decider: Decider?

    /// The largest number of times that a call sends the same request: 2. A further redirect to this request is a loop.
    public static let sameRequestLimit = 2

    /// Creates a policy.
    ///
    /// - Parameters:
    ///   - maxHops: the largest number of redirects in one call. Default: 20.
    ///   - allowsDowngrade: whether a redirect from https to http is followed. Default: `false`.
    /// - Precondition: `maxHops` is at least 0.
    public init(maxHops: Int = 20, allowsDowngrade: Bool = false) {
        precondition(maxHops >= 0, "maxHops must be at least 0 (is \(maxHops))")
        (self.maxHops, self.allowsDowngrade) = (maxHops, allowsDowngrade)
    }

    /// At most 20 redirects; redirects from https to http are refused.
    public static let standard = RedirectPolicy()

    /// The largest number of redirects, and then the settings that differ from the default: `at most 20, also from https to http`.
    public var description: String {
        "at most \(maxHops)" + (allowsDowngrade ? ", also from https to http" : "")
            + (decider == nil ? "" : ", with the app's own decision")
    }

    /// The next step after a response.
    public enum Decision: Sendable {
        /// Return the response. The response is not a redirect, or the caller must handle the redirect.
        case returnResponse
        /// Send this request.
        case follow(Request)
    }

    /// Decides on the next step after a response. This function does not call your own closure (``deciding(_:)``), and does not look for
    /// loops.
    ///
    /// - Parameters:
    ///   - head: the response.
    ///   - request: the request that was sent.
    ///   - hops: the number of redirects that were already followed.
    /// - Throws: ``RedirectError`` for too many hops, for a `Location` that is not a valid `http` or `https` URL, for different
    ///   `Location` fields, and for a refused downgrade.
    public func decision(for head: HTTPResponse, to request: Request, hops: Int) throws(RedirectError) -> Decision {
        guard head.isRedirect, let current = request.url else { return .returnResponse }
        func refused(_ code: RedirectError.Code) -> RedirectError { RedirectError(code, request: request, head: head) }

        func invalid(_ error: InvalidURLError) -> RedirectError {
            refused(.invalidLocation(error, shown: request.options.sensitivity.redactedURL(error.text)))
        }

        let location: String?
        do {
            location = try head.headerFields.checkedSingle(.location)
        } catch {
            throw refused(.severalLocations)
        }
        guard let location else { return .returnResponse }
        let target: HTTPURL
        do throws(InvalidURLError) {
            target = try HTTPURL(Self.target(of: location, from: URLReference(current)))
        } catch {
            throw invalid(error)
        }
        var next = request
        do {
            try next.move(to: target, from: current.origin)
        } catch {
            throw invalid(error)
        }
        // If the host of the target demands https, `move` has changed the scheme.
        if current.isSecure, next.url?.isSecure == false, !allowsDowngrade { throw refused(.downgrade) }

        let becomesGET =
            switch (head.status.code, request.method) {
            case (303, .get), (303, .head): false
            case (303, _), (301, .post), (302, .post): true
            default: false
            }
        if becomesGET {
            next.changeToGET()
        } else {
            guard request.body.isEmpty || request.body.replay.canRestart else { return .returnResponse }
        }
        guard hops < maxHops else { throw refused(.tooManyHops(maxHops)) }
        // The URL template describes the path of the first request, not the target of the redirect.
        next.options.urlTemplate = nil
        return .follow(next)
    }

    /// Returns the target of a `Location`, resolved against the URL that was requested. A target without a fragment inherits the fragment
    /// of that URL ([RFC 9110, section 10.2.2](https://www.rfc-editor.org/rfc/rfc9110#section-10.2.2)). The `Location` is read as
    /// browsers read it, except that a backslash is percent-encoded: ``/ErrandCore/URLReference/init(received:)``.
    ///
    /// - Throws: ``/ErrandCore/InvalidURLError``.
    public static func target(of location: String, from url: URLReference) throws(InvalidURLError) -> URLReference {
        var target = try URLReference(received: location).resolved(against: url)
        if target.fragment == nil { target.fragment = url.fragment }
        return target
    }
}

/// The error of a redirect that can't be followed.
public struct RedirectError: RequestFailure, NumberedFailure {
    /// The kind of a failure. An open set: new codes may be added.
    public struct Code: Sendable, Hashable, CustomStringConvertible {
        /// The code in words.
        public let description: String
        /// The number of the failure.
        fileprivate let number: FailureNumber

        private init(_ number: FailureNumber, _ description: String) { (self.number, self.description) = (number, description) }

        /// There were more redirects than ``RedirectPolicy/maxHops``.
        public static func tooManyHops(_ limit: Int) -> Code { Code(.tooManyRedirects, "more than \(limit.counted("redirect"))") }
        /// The `Location` is not a URL that can be requested. The description shows the text of the field, in which secrets are
        /// replaced.
        public static func invalidLocation(_ error: InvalidURLError) -> Code { invalidLocation(error, shown: error.text) }
        static func invalidLocation(_ error: InvalidURLError, shown: String) -> Code {
            Code(.invalidRedirect, "its Location '\(shown)' is invalid: \(error.code)")
        }
        /// The response has several `Location` fields with different values. Fields with equal values are treated as one field.
        public static let severalLocations = Code(.severalRedirectTargets, "\(RepeatedFieldError(name: .location))")
        /// The redirect leads from https to http, and ``RedirectPolicy/allowsDowngrade`` is false.
        public static let downgrade = Code(
            .redirectDowngrade, "it leads from https to http (RedirectPolicy(allowsDowngrade: true) follows it)")
        /// The redirect leads to a request that the call has already sent twice. Since the first of the two requests, no response has set
        /// a cookie, and the app has changed no redirect.
        public static let loop = Code(.redirectLoop, "it is part of a loop, in which no response sets a cookie")
        /// The app's own decision keeps credentials, and the target does not use https:
        /// ``RedirectPolicy/Choice/followKeepingCredentials(_:because:)``.
        public static let credentialsNeedHTTPS = Code(
            .redirectNeedsHTTPS, "its target does not use https, which followKeepingCredentials requires")
    }

    /// The reason why the redirect can't be followed.
    public let code: Code
    /// The request that was redirected.
    public var request: Request?
    /// The head of the redirect.
    public let head: HTTPResponse
    /// The earlier attempts of the call; empty if the stack has no `retry`, and no earlier redirect changed a POST into a GET.
    public var attempts: [AttemptRecord] = []
    /// The earlier redirects that the call followed, and the other changes of its URL, in order.
    public internal(set) var redirects: [RedirectRecord] = []

    public var response: HTTPResponse? { head }
    public var phase: ExchangePhase { .response }
    public var delivery: Delivery { .sent }

    init(_ code: Code, request: Request, head: HTTPResponse) {
        (self.code, self.request, self.head) = (code, request, head)
    }

    public var description: String {
        "\(shownRequest)the redirect (status \(head.status.code)) can't be followed: \(code)" + shownAttempts
            + redirects.shown(before: request)
    }

    public var failureNumber: FailureNumber { code.number }
    public var failureReason: String? { SafeText.sentence(code.description) }
    public var recoverySuggestion: String? { "Try again later." }
}
