/// The error for an invalid URL, path or query, which can't be sent. The error is thrown before anything is sent. Most errors are
/// thrown when a request is built. A missing host is found when the request is sent.
///
/// The description shows the text, in which secrets are replaced, and says what to do: `invalid URL '/users': it has no host; give a
/// whole URL, or add .server("https://…") to the stack`.
public struct InvalidURLError: NumberedFailure, Sendable, Hashable, CustomStringConvertible {
    /// The kind of problem. New codes may be added.
    public struct Code: Sendable, Hashable, CustomStringConvertible {
        /// The problem, and the remedy for the developer.
        public var description: String { problem + (remedy.map { "; \($0)" } ?? "") }
        /// The problem.
        fileprivate private(set) var problem: String
        /// The remedy for the developer; `nil` if the problem includes the remedy.
        private let remedy: String?
        /// The problem, described without any part of the text. This description is shown if the text may contain credentials, because
        /// ``problem`` may show a part of the text.
        private let plain: String?
        /// Whether the app built the address incorrectly. If true, a person can't correct the mistake.
        fileprivate private(set) var isMistakeOfTheApp: Bool

        init(_ problem: String, remedy: String? = nil, plain: String? = nil, isMistakeOfTheApp: Bool = false) {
            self.problem = problem
            self.remedy = remedy
            self.plain = plain
            self.isMistakeOfTheApp = isMistakeOfTheApp
        }

        /// A copy of this code for a text that the app has built.
        var ofTheApp: Code {
            var code = self
            code.isMistakeOfTheApp = true
            return code
        }

        func shown(for text: String) -> Code {
            guard let plain, Credentials.mayStand(in: text) else { return self }
            var code = self
            code.problem = plain
            return code
        }

        public static func == (first: Code, second: Code) -> Bool { first.description == second.description }
        public func hash(into hasher: inout Hasher) { hasher.combine(description) }

        /// The text is empty.
        public static let empty = Code("it is empty", remedy: "write http:// or https:// and a host")
        /// There is no scheme: `a.example/x`.
        public static let missingScheme = Code("it has no scheme", remedy: "write http:// or https://")
        /// There is no host, and the stack has no `server` to add a host: `/users`.
        public static let missingHost = Code(
            "it has no host", remedy: #"give a whole URL, or add .server("https://…") to the stack"#, isMistakeOfTheApp: true)
        /// There is a user name or a password: `https://joe:secret@a.example`
        /// ([RFC 9110, section 4.2.4](https://www.rfc-editor.org/rfc/rfc9110#section-4.2.4)).
        public static let credentials = Code(
            "it holds credentials", remedy: "send credentials with an authentication scheme (RFC 9110, section 4.2.4)")
        /// A segment of the path is empty, for example because its value is empty.
        public static let emptySegment = Code("a segment of the path is empty, and servers may drop it", isMistakeOfTheApp: true)
        /// A segment of the path is `.` or `..`, for example because of its value.
        public static let dotSegment = Code(
            "a segment of the path is '.' or '..', which servers and proxies resolve", isMistakeOfTheApp: true)
        /// There is a fragment: `/x#top`.
        public static let fragment = Code("it has a fragment, which is never sent", remedy: "write '#' within data as %23")
        /// There is a scheme or an authority in a text that must be a path.
        public static let absolute = Code(
            "it has a scheme or an authority, but must be a path", remedy: "for a whole URL in a typed call, write .url(url)",
            isMistakeOfTheApp: true)
        /// There is a path or a query in a text that must be an origin.
        public static let notAnOrigin = Code(
            "it has a path or a query, but an origin has only a scheme, a host and a port", isMistakeOfTheApp: true)
        /// The target of a request begins with neither `/` nor `?`.
        public static let invalidTarget = Code(
            "its target begins with neither '/' nor '?', and would become a part of the host", isMistakeOfTheApp: true)
        /// The text is longer than 65,535 octets.
        public static let tooManyOctets = Code("it is longer than 65,535 octets")
        /// The scheme is neither `http` nor `https`.
        public static func unsupportedScheme(_ scheme: String) -> Code {
            Code("the scheme '\(scheme.shownSafely(limit: 20))' is neither http nor https", plain: "the scheme is neither http nor https")
        }
        /// A component contains an octet that must be percent-encoded.
        public static func invalidOctet(_ octet: UInt8, component: String) -> Code {
            if octet >= 0x80 {
                return Code(
                    "its \(component) holds text that is not ASCII, which must be percent-encoded", remedy: encodingRemedy(for: component))
            }
            let hex = String(octet, radix: 16, uppercase: true)
            let name = octet == UInt8(ascii: " ") ? "a space" : "the octet 0x\(hex)"
            let isPrintable = octet >= 0x20 && octet != 0x7F
            // For a control character, there is no remedy: `HTTPURL(pasted:)` refuses control characters too.
            let remedy = isPrintable ? encodingRemedy(for: component) : nil
            return Code("its \(component) holds \(name), which must be percent-encoded", remedy: remedy)
        }
        /// Returns the remedy for text that must be percent-encoded; `nil` outside the path, the query and the fragment.
        private static func encodingRemedy(for component: String) -> String? {
            if component.isExactly("path") { return #"put the text in as a value, "/\(name)", or use HTTPURL(pasted:)"# }
            if component.isExactly("query") {
                return #"put the text in as a query item, query: ["name": text], or use HTTPURL(pasted:)"#
            }
            // `HTTPURL(pasted:)` drops the fragment. The library never sends a fragment.
            return component.isExactly("fragment") ? "use HTTPURL(pasted:)" : nil
        }
        /// The host is neither a name nor an address. The reason is `why`.
        public static func invalidHost(_ why: String) -> Code {
            Code("its host is invalid: \(why.shownSafely())", plain: "its host is invalid")
        }
        /// The port is not a number from 1 to 65535.
        public static func invalidPort(_ port: String) -> Code {
            Code("'\(port.shownSafely(limit: 20))' is not a port (1 to 65535)", plain: "'…' is not a port (1 to 65535)")
        }
    }

    /// The invalid text, with its secrets removed or replaced, truncated to 200 characters. Credentials and a refused fragment
    /// are left out, and secret query values are replaced. A port that is not a number is left out too, because the port may be
    /// a password. After a bracket in place of a host, text that can't be an address is left out.
    public let text: String
    /// The problem of the text.
    public let code: Code

    /// Creates an error for a text.
    ///
    /// - Parameters:
    ///   - text: the invalid text. Its secrets are removed.
    ///   - code: the problem of the text.
    public init(_ text: String, _ code: Code) {
        var shown = Credentials.removed(fromInvalidURL: text)
        switch code {
        case .invalidPort("…"): shown = Credentials.withoutPort(shown)
        case .fragment: shown = String(Substring(shown.utf8.prefix { $0 != UInt8(ascii: "#") })) + "#…"
        default: break
        }
        shown = Credentials.withoutInvalidAddress(shown)
        self.text = Sensitivity.standard.redactedURL(shown).shownSafely()
        self.code = code.shown(for: text)
    }

    /// The invalid text, with its secrets removed or replaced, and the problem of the text.
    public var description: String { "invalid URL '\(text)': \(code)" }
    public var failureNumber: FailureNumber { .invalidURL }
    /// The problem, without the remedy for the developer.
    public var failureReason: String? { code.problem.asSentence }
    /// The remedy for a person who typed the address; `nil` if the app has built the address incorrectly.
    public var recoverySuggestion: String? { code.isMistakeOfTheApp ? nil : "Correct the address, then try again." }
}

extension InvalidURLError: SafelyDescribedError {}
