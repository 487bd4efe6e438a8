/// The error for a TLS setting that is invalid, can't be read, or is not supported by the transport. The error is thrown when the setting
/// or the transport is created.
///
/// ```
/// invalid TLS setting '*.a.example': at least two different pins are needed, one of them for a key that is not in use; the pattern has 1
/// ```
public struct TLSSettingsError: NumberedFailure, Sendable, Hashable, CustomStringConvertible {
    /// The kind of problem. New codes may be added.
    public struct Code: Sendable, Hashable, CustomStringConvertible {
        /// The code as a short phrase: `invalid host pattern`.
        public let description: String

        private init(_ description: String) { self.description = description }

        /// There is no pattern, or a pattern is empty.
        public static let emptyPattern = Code("empty host pattern")
        /// The pattern is neither a host nor a host after `*.` or `**.`.
        public static let invalidPattern = Code("invalid host pattern")
        /// The pattern has a wildcard before an address.
        public static let wildcardForAddress = Code("wildcard for an address")
        /// The hash function of a pin is not `sha256`.
        public static let unknownHash = Code("unknown hash")
        /// The hash of a pin is not in base64, or not in the canonical spelling.
        public static let invalidBase64 = Code("invalid base64")
        /// The hash of a pin does not have 32 bytes.
        public static let wrongLength = Code("wrong length")
        /// The pattern has fewer than two different pins.
        public static let missingBackupPin = Code("missing backup pin")
        /// The text is neither a name nor an address.
        public static let invalidHost = Code("invalid host")
        /// A file does not exist, can't be read, or has invalid content; or a key does not belong to its certificate.
        public static let unreadableFile = Code("unreadable file")
        /// The transport does not support the setting.
        public static let unsupported = Code("unsupported setting")
    }

    /// The problem.
    public let code: Code
    /// The invalid pattern, pin, host, path or setting, truncated to 200 characters.
    public let subject: String
    /// The reason and what to do, in words.
    public let message: String

    /// Creates the error. For transports.
    ///
    /// - Parameters:
    ///   - code: the problem.
    ///   - subject: the invalid pattern, pin, host, path or setting. At most 200 characters are kept.
    ///   - message: the reason why the subject is invalid, and what to do.
    public init(_ code: Code, of subject: some StringProtocol, _ message: String) {
        (self.code, self.subject, self.message) = (code, subject.shownSafely(), message)
    }

    /// The subject, the reason, and what to do.
    public var description: String { "invalid TLS setting '\(subject)': \(message)" }
    public var failureNumber: FailureNumber { .tlsSettings }
    /// The problem, with the subject.
    public var failureReason: String? { "\(code) '\(subject)': \(message)".asSentence }
}

extension TLSSettingsError: SafelyDescribedError {}
