/// Returns a short phrase for the description of a TLS error.
///
/// - Parameter text: the description of an error of BoringSSL.
package func tlsErrorText(_ text: String) -> String {
    let reasons = [
        ("failedToValidateHostname", "the certificate is for another host"),
        ("CERTIFICATE_VERIFY_FAILED", "the certificate is not trusted, or not valid now"),
        ("WRONG_VERSION_NUMBER", "the other side does not speak TLS; the URL of a port without TLS begins with http://"),
        ("HTTP_REQUEST", "the other side does not speak TLS; the URL of a port without TLS begins with http://"),
        ("CERTIFICATE_REQUIRED", "the server needs a client certificate"),
        ("UNSUPPORTED_PROTOCOL", "the server supports none of the allowed versions of TLS"),
        ("ALERT_PROTOCOL_VERSION", "the server supports none of the allowed versions of TLS"),
        ("ALERT_UNKNOWN_CA", "the server does not trust the authority of the client certificate"),
        ("ALERT_CERTIFICATE_EXPIRED", "the server refused the client certificate: it has expired"),
        ("ALERT_CERTIFICATE_REVOKED", "the server refused the client certificate: it is revoked"),
        ("ALERT_BAD_CERTIFICATE", "the server refused the client certificate"),
        ("ALERT_UNSUPPORTED_CERTIFICATE", "the server refused the client certificate"),
        ("ALERT_CERTIFICATE_UNKNOWN", "the server refused the client certificate"),
        ("ALERT_ACCESS_DENIED", "the server refused the client certificate"),
        ("ALERT_UNRECOGNIZED_NAME", "the server does not know the host's name"),
        ("ALERT_HANDSHAKE_FAILURE", "the server refused the handshake: it accepts no offered cipher, or it needs a client certificate"),
        ("NO_SHARED_CIPHER", "the server accepts no offered cipher"),
        ("eofDuringHandshake", "the server closed the connection during the handshake; it may not speak TLS on this port"),
        ("EOF during handshake", "the server closed the connection during the handshake; it may not speak TLS on this port"),
        ("KEY_VALUES_MISMATCH", "the private key does not belong to the certificate"),
        ("failedToLoadCertificate", "it contains no certificate in PEM form"),
        ("failedToLoadPrivateKey", "it contains no private key in PEM form, or the key has a password"),
        ("noSuchFilesystemObject", "there is no such file"),
    ]
    if let known = reasons.first(where: { text.contains($0.0) }) { return known.1 }
    // An example of the text: `…SSL routines:OPENSSL_internal:TLSV1_ALERT_INTERNAL_ERROR at …`
    let name = text.firstMatch(of: /OPENSSL_internal:([A-Z0-9_]+)/)?.output.1
    return name.map { $0.lowercased().split(separator: "_").joined(separator: " ") } ?? text
}

/// Returns whether an error text of this file may be about the dates of a certificate.
func isOfCertificateDates(_ text: String) -> Bool { text.contains("expired") || text.contains("valid") }
