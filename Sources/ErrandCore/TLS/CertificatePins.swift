/// The public keys that hosts must have in their chain of certificates (pinning).
///
/// ```swift
/// configuration.tls.pins = try CertificatePins([
///     "**.a.example": [
///         "sha256/AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA=",  // in use
///         "sha256/AQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQE=",  // the backup
///     ]
/// ])
/// ```
///
/// Pins are checked in addition to the usual verification: an invalid chain is refused even if its keys match. A valid chain must have
/// at least one certificate with an expected pin. The expected pins are the pins of all patterns that match the host. If no pattern
/// matches a host, the host is not checked. Pins are compared after the handshake, and before the first byte of a request is sent. Before
/// this comparison, the transport may already have presented its client certificate.
///
/// A pattern is one of these:
/// - A host: `a.example`, `192.0.2.7`, `::1`.
/// - `*.a.example`: exactly one label before `a.example`.
/// - `**.a.example`: any number of labels before `a.example`, or no label.
///
/// Hosts are compared in their ASCII form and lower case, without a dot at the end. A pattern has no scheme, port or path: it
/// applies to every port of its hosts.
///
/// A pin is `sha256/` and the SHA-256 hash of the certificate's SubjectPublicKeyInfo in base64
/// ([RFC 7469, section 2.4](https://www.rfc-editor.org/rfc/rfc7469#section-2.4)): 44 characters. The form of curl has two
/// slashes, `sha256//`. The form of this library has one slash. The message of a mismatch lists the pins of the server's chain.
/// Each pattern needs at least two different pins: without a backup pin, the loss of one key makes the host unreachable for every
/// installed app.
public struct CertificatePins: Sendable, Hashable {
    private struct Entry: Sendable, Hashable {
        let pattern: PinPattern
        let pins: Set<String>
    }

    /// The entries, sorted by pattern.
    private let entries: [Entry]
    private var observer: Observer?

    /// Creates pins.
    ///
    /// - Parameter pins: the pins of each pattern. Patterns with the same meaning are combined into one pattern, which has all
    ///   their pins.
    /// - Throws: ``TLSSettingsError`` if a pattern or a pin is invalid, if a pattern has fewer than two different pins, or if
    ///   there is no pattern.
    public init(_ pins: [String: [String]]) throws(TLSSettingsError) {
        var known: [PinPattern: Set<String>] = [:]
        for (pattern, texts) in pins.sorted(by: { $0.key < $1.key }) {
            let pattern = try PinPattern(pattern)
            var all = known[pattern] ?? []
            for text in texts { all.insert(try Self.checked(text)) }
            known[pattern] = all
        }
        guard !known.isEmpty else {
            throw TLSSettingsError(.emptyPattern, of: "pins", "there is no pattern; to check no pins, set nil")
        }
        entries = known.map { Entry(pattern: $0, pins: $1) }.sorted { "\($0.pattern)" < "\($1.pattern)" }
        for entry in entries where entry.pins.count < 2 {
            throw TLSSettingsError(
                .missingBackupPin, of: "\(entry.pattern)",
                "at least two different pins are needed, one of them for a key that is not in use; the pattern has \(entry.pins.count)")
        }
    }

    private static func checked(_ pin: String) throws(TLSSettingsError) -> String {
        let form = "write sha256/ and the SHA-256 hash of the public key in base64, 44 characters (RFC 7469, section 2.4)"
        if let own = ownForm(ofCurls: pin) {
            throw TLSSettingsError(.invalidBase64, of: pin, "the form with two slashes is for curl; write \(own) (RFC 7469, section 2.4)")
        }
        guard pin.hasPrefix("sha256/") else { throw TLSSettingsError(.unknownHash, of: pin, "the hash is not sha256; \(form)") }
        guard let hash = Data(base64Encoded: String(pin.dropFirst(7))), Self.pin(sha256: hash) == pin else {
            throw TLSSettingsError(.invalidBase64, of: pin, "the hash is not in canonical base64; \(form)")
        }
        guard hash.count == 32 else {
            throw TLSSettingsError(.wrongLength, of: pin, "the hash has \(hash.count.counted("byte")) instead of 32; \(form)")
        }
        return pin
    }

    /// Converts pins from the form of curl to the form of this type. Returns `nil` if the text does not have the form of curl.
    /// The form of curl is `sha256//` and a hash, with semicolons between several pins. The hash of a valid pin may begin with
    /// a slash.
    private static func ownForm(ofCurls text: String) -> String? {
        let pins = text.split(separator: ";").map { $0.hasPrefix("sha256//") ? "sha256/" + $0.dropFirst(8) : "" }
        let areHashes = pins.allSatisfy { pin in
            guard let hash = Data(base64Encoded: String(pin.dropFirst(7))) else { return false }
            return hash.count == 32 && Self.pin(sha256: hash) == pin
        }
        guard !pins.isEmpty, areHashes else { return nil }
        return pins.map { "\"\($0)\"" }.joined(separator: ", ")
    }

    /// Returns the pin of a public key.
    ///
    /// - Parameter hash: the SHA-256 hash of the key's SubjectPublicKeyInfo.
    public static func pin(sha256 hash: some Sequence<UInt8>) -> String { "sha256/" + Data(hash).base64EncodedString() }

    /// Returns the pins of all patterns that match a host, in alphabetical order; empty if no pattern matches.
    ///
    /// - Parameter host: the host, in the form of ``Origin/host``.
    public func pins(for host: String) -> [String] {
        let host = Host.comparable(host)
        return Set(entries.filter { $0.pattern.matches(host) }.flatMap(\.pins)).sorted()
    }

    // MARK: - Report-only mode

    /// Whether the pins are in report-only mode: a mismatch is reported, and the exchange continues.
    public var isReportOnly: Bool { observer != nil }

    /// Returns these pins in report-only mode: a mismatch is reported to `report`, and the exchange continues
    /// ([RFC 7469, section 2.6.2](https://www.rfc-editor.org/rfc/rfc7469#section-2.6.2)). Use this mode to try out pins.
    ///
    /// - Parameter report: a closure, called once for each connection that fails the check, before the first request of the
    ///   connection. The closure must not block, because a transport may call it on an event loop. Two values with different
    ///   closures are not equal.
    public func reporting(to report: @escaping @Sendable (CertificatePinError) -> Void) -> CertificatePins {
        var pins = self
        pins.observer = Observer(report)
        return pins
    }

    private final class Observer: Sendable, Hashable {
        let report: @Sendable (CertificatePinError) -> Void

        init(_ report: @escaping @Sendable (CertificatePinError) -> Void) { self.report = report }

        static func == (first: Observer, second: Observer) -> Bool { first === second }
        func hash(into hasher: inout Hasher) { hasher.combine(ObjectIdentifier(self)) }
    }

    // MARK: - The check

    /// Compares a chain of certificates with the pins of its host. In report-only mode, this function reports a mismatch. For transports.
    ///
    /// - Parameters:
    ///   - chain: the pins of the validated chain. The pin of the server's own certificate is first.
    ///   - host: the host, in the form of ``Origin/host``.
    /// - Throws: ``CertificatePinError``; no error in report-only mode.
    public func check(_ chain: [String], of host: String) throws(CertificatePinError) {
        let expected = pins(for: host)
        guard !expected.isEmpty, !chain.contains(where: expected.contains) else { return }
        let mismatch = CertificatePinError(host: Host.comparable(host), expected: expected, chain: chain)
        guard let observer else { throw mismatch }
        observer.report(mismatch)
    }
}

extension CertificatePins: CustomStringConvertible, CustomReflectable {
    /// The patterns: `pins of *.a.example, b.example`, and ` (reported only)` in report-only mode.
    public var description: String {
        "pins of \(entries.map { "\($0.pattern)" }.joined(separator: ", "))" + (isReportOnly ? " (reported only)" : "")
    }
    /// The patterns with their pins. Pins are not secret.
    public var customMirror: Mirror {
        Mirror(self, children: entries.map { (label: "\($0.pattern)", value: $0.pins.sorted()) })
    }
}

/// The error if no certificate of a server's chain has one of the pins of its host. The error is the underlying error of a
/// ``TransportError`` with the code ``TransportError/Code/tls``. In report-only mode, the error is passed to the closure of
/// ``CertificatePins/reporting(to:)``.
///
/// The description lists the pins of the chain and the expected pins, so that a developer can pin the server:
///
/// ```
/// no certificate of 'a.example' has an expected pin; its chain has sha256/… (the server's own), sha256/…;
/// expected is one of sha256/…, sha256/…
/// ```
public struct CertificatePinError: NumberedFailure, Sendable, Hashable, CustomStringConvertible {
    /// The host, in its ASCII form.
    public let host: String
    /// The pins of all patterns that match the host, in alphabetical order.
    public let expected: [String]
    /// The pins of the server's chain, from the server's own certificate to the root.
    public let chain: [String]

    /// The host, the pins of its chain, and the expected pins.
    public var description: String {
        var found = chain
        if !found.isEmpty { found[0] += " (the server's own)" }
        return "no certificate of '\(host)' has an expected pin; its chain has \(found.isEmpty ? "none" : found.joined(separator: ", "))"
            + "; expected is one of \(expected.joined(separator: ", "))"
    }

    public var failureNumber: FailureNumber { .certificatePins }
    /// The host, the pins of its chain, and the expected pins.
    public var failureReason: String? { description.asSentence }
}

extension CertificatePinError: SafelyDescribedError {}
