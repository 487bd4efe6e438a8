/// Text that is no URL, path or query that this library sends. Thrown when a request is built, before anything is sent.
public struct InvalidURLError: LocalizedError, Sendable, Hashable, CustomStringConvertible {
    /// What was wrong. An open set: new reasons may come.
    public struct Reason: Sendable, Hashable, CustomStringConvertible {
        public let description: String
        /// In place of the description where the text may hold credentials: the part that it names may be one of theirs.
        private let plain: String?

        init(_ description: String, plain: String? = nil) { (self.description, self.plain) = (description, plain) }

        func shown(for text: String) -> Reason {
            guard let plain, Credentials.mayStand(in: text) else { return self }
            return Reason(plain)
        }

        public static func == (first: Reason, second: Reason) -> Bool { first.description == second.description }
        public func hash(into hasher: inout Hasher) { hasher.combine(description) }

        public static let missingScheme = Reason("it has no scheme; write http:// or https://")
        public static let missingHost = Reason("it has no host; give a whole URL, or add .server(_:) to the stack")
        public static let credentials = Reason(
            "it holds credentials; an authentication scheme carries them, a URL does not (RFC 9110, 4.2.4)")
        public static let emptySegment = Reason("a segment of the path is empty, and would vanish on the way")
        public static let dotSegment = Reason("a segment of the path is '.' or '..', which servers and proxies resolve")
        public static let fragment = Reason("it has a fragment, which is never sent; '#' within data is written %23")
        public static let absolute = Reason("it names a scheme or another authority where a path is wanted")
        public static let notAnOrigin = Reason("it has a path or a query, and an origin is a scheme, a host and a port alone")
        public static let invalidTarget = Reason("its target begins with neither '/' nor '?', and would become a part of the host")
        public static let tooManyOctets = Reason("it is longer than 65,535 octets")
        public static func unsupportedScheme(_ scheme: String) -> Reason {
            Reason("the scheme '\(scheme.shownSafely(limit: 20))' is neither http nor https", plain: "the scheme is neither http nor https")
        }
        public static func invalidOctet(_ octet: UInt8, component: String) -> Reason {
            let hex = String(octet, radix: 16, uppercase: true)
            return Reason("its \(component) holds the octet 0x\(hex), which must be percent-encoded")
        }
        public static func invalidHost(_ why: String) -> Reason {
            Reason("its host is invalid: \(why.shownSafely())", plain: "its host is invalid")
        }
        public static func invalidPort(_ port: String) -> Reason {
            Reason("'\(port.shownSafely(limit: 20))' is no port (1 to 65535)", plain: "'…' is no port (1 to 65535)")
        }
    }

    /// The text, without credentials, a port that is no number (which may be a password) and a refused fragment, and with secret query values
    /// replaced; at most 200 characters of it.
    public let text: String
    /// Why it was refused.
    public let reason: Reason

    public init(_ text: String, _ reason: Reason) {
        var shown = Credentials.removed(fromInvalidURL: text)
        switch reason {
        case .invalidPort("…"): shown = Credentials.withoutPort(shown)
        case .fragment: shown = shown.prefix { $0 != "#" } + "#…"
        default: break
        }
        self.text = Sensitivity.standard.redactedURL(shown).shownSafely()
        self.reason = reason.shown(for: text)
    }

    public var description: String { "invalid URL '\(text)': \(reason)" }
    public var errorDescription: String? { description }
}
