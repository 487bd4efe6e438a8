/// What a TLS library says at length, as the one phrase that helps.
///
/// - Parameter text: the description of an error of BoringSSL.
package func tlsErrorText(_ text: String) -> String {
    let reasons = [
        ("failedToValidateHostname", "the certificate is for another host"),
        ("CERTIFICATE_VERIFY_FAILED", "the certificate is not trusted, or not valid now"),
        ("WRONG_VERSION_NUMBER", "the other side does not speak TLS; the URL of a plain port begins with http://"),
        ("CERTIFICATE_REQUIRED", "the server wants a client certificate"),
        ("UNSUPPORTED_PROTOCOL", "no version of TLS in common"),
        ("eofDuringHandshake", "the server closed the connection during the handshake"),
    ]
    if let known = reasons.first(where: { text.contains($0.0) }) { return known.1 }
    // `…SSL routines:OPENSSL_internal:TLSV1_ALERT_INTERNAL_ERROR at …`
    let name = text.firstMatch(of: /OPENSSL_internal:([A-Z0-9_]+)/)?.output.1
    return name.map { $0.lowercased().split(separator: "_").joined(separator: " ") } ?? text
}
