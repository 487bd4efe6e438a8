#if SWIFT_NIO
internal import ErrandCore
internal import ErrandFormats

/// Returns the reason why the verification has refused a certificate, in words. Only the certificate itself is examined.
///
/// - Parameters:
///   - start: the first instant at which the certificate is valid.
///   - end: the last instant at which the certificate is valid.
///   - problem: the known problem apart from the dates; `nil` if no problem is known.
func certificateRefusalText(
    validFrom start: HTTPDate, until end: HTTPDate, now: HTTPDate, problem: CertificateProblem? = nil
) -> String {
    if now > end { return "the certificate has expired: it was valid until \(end)" }
    if now < start { return "the certificate is not valid yet: it is valid from \(start); check the clock of this computer" }
    switch problem {
    case .notForServers?:
        return "the certificate is not for servers: its extended key usage has no serverAuth; the server needs another certificate"
    case .forbiddenName(let name)?:
        return "the authority of the certificate may not sign for '\(name.shownSafely(limit: 80))': its name constraints forbid this name; "
            + "the server needs a certificate of another authority"
    case nil:
        return "the certificate is signed by an unknown authority, or by itself, or the server does not send its intermediate certificate, "
            + "or an authority may not sign for the certificate's names"
    }
}

/// The reason why a certificate of a known authority is refused.
enum CertificateProblem: Sendable, Hashable {
    /// The extended key usage excludes servers ([RFC 5280, section 4.2.1.12](https://www.rfc-editor.org/rfc/rfc5280#section-4.2.1.12)).
    case notForServers
    /// The name constraints of the authority exclude a name of the certificate
    /// ([RFC 5280, section 4.2.1.10](https://www.rfc-editor.org/rfc/rfc5280#section-4.2.1.10)).
    case forbiddenName(String)
}
#endif
