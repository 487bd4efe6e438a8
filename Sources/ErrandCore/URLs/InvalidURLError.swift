/// Text is not a URL, path or query that can be sent. It is thrown before anything is sent: mostly when a request is built, and when it is sent
/// if it has no host then.
///
/// The description shows the text without secrets, and says what to do: `invalid URL '/users': it has no host; give a whole URL, or add
/// .server("https://…") to the stack`.
public struct InvalidURLError: LocalizedError, Sendable, Hashable, CustomStringConvertible {
    /// The kind of problem. An open set: new reasons may come.
    public struct Reason: Sendable, Hashable, CustomStringConvertible {
        /// The problem, and what a developer can do about it.
        public var description: String { problem + (remedy.map { "; \($0)" } ?? "") }
        /// The problem.
        fileprivate private(set) var problem: String
        /// What a developer can do about it; `nil` if the problem says it.
        private let remedy: String?
        /// In place of the problem where the text may hold credentials: the part that it names may be one of theirs.
        private let plain: String?
        /// Whether the app has put the address together wrongly, so that a person who typed a part of it cannot correct it.
        fileprivate private(set) var isMistakeOfTheApp: Bool

        init(_ problem: String, remedy: String? = nil, plain: String? = nil, isMistakeOfTheApp: Bool = false) {
            (self.problem, self.remedy, self.plain, self.isMistakeOfTheApp) = (problem, remedy, plain, isMistakeOfTheApp)
        }

        /// The same reason for a text that the app has put together.
        var ofTheApp: Reason {
            var reason = self
            reason.isMistakeOfTheApp = true
            return reason
        }

        func shown(for text: String) -> Reason {
            guard let plain, Credentials.mayStand(in: text) else { return self }
            var reason = self
            reason.problem = plain
            return reason
        }

        public static func == (first: Reason, second: Reason) -> Bool { first.description == second.description }
        public func hash(into hasher: inout Hasher) { hasher.combine(description) }

        /// There is no text at all.
        public static let empty = Reason("it is empty", remedy: "write http:// or https:// and a host")
        /// There is no scheme: `a.example/x`.
        public static let missingScheme = Reason("it has no scheme", remedy: "write http:// or https://")
        /// There is no host, and no `server` in the stack that gives one: `/users`.
        public static let missingHost = Reason(
            "it has no host", remedy: #"give a whole URL, or add .server("https://…") to the stack"#, isMistakeOfTheApp: true)
        /// There is a name or a password: `https://joe:secret@a.example`
        /// ([RFC 9110, section 4.2.4](https://www.rfc-editor.org/rfc/rfc9110#section-4.2.4)).
        public static let credentials = Reason(
            "it holds credentials", remedy: "an authentication scheme carries them, a URL does not (RFC 9110, section 4.2.4)")
        /// A value that makes a whole segment of the path is empty.
        public static let emptySegment = Reason("a segment of the path is empty, and would vanish on the way", isMistakeOfTheApp: true)
        /// A value that makes a whole segment of the path is `.` or `..`.
        public static let dotSegment = Reason(
            "a segment of the path is '.' or '..', which servers and proxies resolve", isMistakeOfTheApp: true)
        /// There is a fragment: `/x#top`.
        public static let fragment = Reason("it has a fragment, which is never sent", remedy: "'#' within data is written %23")
        /// A path is wanted, and there is a scheme or an authority.
        public static let absolute = Reason("it names a scheme or another authority where a path is wanted", isMistakeOfTheApp: true)
        /// An origin is wanted, and there is a path or a query.
        public static let notAnOrigin = Reason(
            "it has a path or a query, and an origin is a scheme, a host and a port alone", isMistakeOfTheApp: true)
        /// The target of a request begins with neither `/` nor `?`.
        public static let invalidTarget = Reason(
            "its target begins with neither '/' nor '?', and would become a part of the host", isMistakeOfTheApp: true)
        /// It is longer than 65,535 octets.
        public static let tooManyOctets = Reason("it is longer than 65,535 octets")
        /// The scheme is neither `http` nor `https`.
        public static func unsupportedScheme(_ scheme: String) -> Reason {
            Reason("the scheme '\(scheme.shownSafely(limit: 20))' is neither http nor https", plain: "the scheme is neither http nor https")
        }
        /// An octet stands in a component where it must be percent-encoded.
        public static func invalidOctet(_ octet: UInt8, component: String) -> Reason {
            if octet >= 0x80 {
                return Reason(
                    "its \(component) holds text that is not ASCII, which must be percent-encoded",
                    remedy: #"put the text in as a value, "/\(name)", or use HTTPURL(pasted:)"#)
            }
            let hex = String(octet, radix: 16, uppercase: true)
            return Reason("its \(component) holds the octet 0x\(hex), which must be percent-encoded")
        }
        /// The host is neither a name nor an address, for the reason `why`.
        public static func invalidHost(_ why: String) -> Reason {
            Reason("its host is invalid: \(why.shownSafely())", plain: "its host is invalid")
        }
        /// The port is not a number from 1 to 65535.
        public static func invalidPort(_ port: String) -> Reason {
            Reason("'\(port.shownSafely(limit: 20))' is not a port (1 to 65535)", plain: "'…' is not a port (1 to 65535)")
        }
    }

    /// The text without secrets, at most 200 characters of it. Credentials, a refused fragment, and a port that is not a number (it may be a
    /// password) are left out, and secret query values are replaced.
    public let text: String
    /// The problem of the text.
    public let reason: Reason

    /// - Parameters:
    ///   - text: the text as it was given; its secrets are removed.
    ///   - reason: what is wrong with it.
    public init(_ text: String, _ reason: Reason) {
        var shown = Credentials.removed(fromInvalidURL: text)
        switch reason {
        case .invalidPort("…"): shown = Credentials.withoutPort(shown)
        case .fragment: shown = String(Substring(shown.utf8.prefix { $0 != UInt8(ascii: "#") })) + "#…"
        default: break
        }
        self.text = Sensitivity.standard.redactedURL(shown).shownSafely()
        self.reason = reason.shown(for: text)
    }

    /// The text without secrets, and the reason.
    public var description: String { "invalid URL '\(text)': \(reason)" }
    /// A sentence for people, with the text without secrets.
    public var errorDescription: String? { "The address '\(text)' is not valid." }
    /// The problem, without what a developer can do about it.
    public var failureReason: String? { reason.problem.asSentence }
    /// What a person can do who typed the address; `nil` if the app has put it together wrongly.
    public var recoverySuggestion: String? { reason.isMistakeOfTheApp ? nil : "Correct the address, then try again." }
}

extension InvalidURLError: SafelyDescribedError {}
