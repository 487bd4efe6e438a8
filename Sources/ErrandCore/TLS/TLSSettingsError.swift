/// The error for a TLS setting that is invalid, can't be read, or is not supported by the transport. Thrown when the setting or
/// the transport is created.
///
/// ```
/// invalid TLS setting '*.a.example': at least two different pins are needed, one of them for a key that is not in use; the pattern has 1
/// ```
public struct TLSSettingsError: NumberedFailure, Sendable, Hashable, CustomStringConvertible {
    /// The kind of problem. An open set.
    public struct Reason: Sendable, Hashable, CustomStringConvertible {
        /// The reason as a short phrase: `invalid host pattern`.
        public let description: String

        private init(_ description: String) { self.description = description }

        /// There is no pattern, or a pattern is empty.
        public static let emptyPattern = Reason("empty host pattern")
        /// The pattern is neither a host nor a host after `*.` or `**.`.
        public static let invalidPattern = Reason("invalid host pattern")
        /// The pattern has a wildcard before an address.
        public static let wildcardForAddress = Reason("wildcard for an address")
        /// The hash of a pin is not `sha256`.
        public static let unknownHash = Reason("unknown hash")
        /// The hash of a pin is not in base64, or not in the canonical spelling.
        public static let invalidBase64 = Reason("invalid base64")
        /// The hash of a pin does not have 32 bytes.
        public static let wrongLength = Reason("wrong length")
        /// The pattern has fewer than two different pins.
        public static let missingBackupPin = Reason("missing backup pin")
        /// The text is neither a name nor an address.
        public static let invalidHost = Reason("invalid host")
        /// A file does not exist, can't be read, or has invalid content; or a key does not belong to its certificate.
        public static let unreadableFile = Reason("unreadable file")
        /// The transport does not support the setting.
        public static let unsupported = Reason("unsupported setting")
    }

    /// The problem.
    public let reason: Reason
    /// The invalid pattern, pin, host, path or setting, truncated to 200 characters.
    public let subject: String
    /// The reason and what to do, in words.
    public let message: String

    /// Creates the error. For transports.
    ///
    /// - Parameters:
    ///   - reason: the problem.
    ///   - subject: the invalid pattern, pin, host, path or setting. At most 200 characters are kept.
    ///   - message: the reason why the subject is invalid, and what to do.
    public init(_ reason: Reason, of subject: some StringProtocol, _ message: String) {
        (self.reason, self.subject, self.message) = (reason, subject.shownSafely(), message)
    }

    /// The subject, the reason, and what to do.
    public var description: String { "invalid TLS setting '\(subject)': \(message)" }
    public var failureNumber: FailureNumber { .tlsSettings }
    /// The problem, with the subject.
    public var failureReason: String? { "\(reason) '\(subject)': \(message)".asSentence }
}

extension TLSSettingsError: SafelyDescribedError {}
