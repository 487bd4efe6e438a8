internal import ErrandFormats
internal import Foundation

/// The certificates of a file in PEM.
enum PEMCertificates {
    /// Returns the certificates in DER, in the order of the file ([RFC 7468, section 5](https://www.rfc-editor.org/rfc/rfc7468#section-5)).
    /// Text outside of the certificates is skipped. `nil` if there is no certificate, or if a certificate is incomplete or not in base64.
    static func read(_ file: Data) -> [Data]? {
        var certificates: [Data] = []
        var base64: Data?
        for line in file.split(whereSeparator: { $0 == UInt8(ascii: "\n") || $0 == UInt8(ascii: "\r") }) {
            let text = String(decoding: line, as: UTF8.self).trimmingOptionalWhitespace()
            if text.isExactly("-----BEGIN CERTIFICATE-----") {
                guard base64 == nil else { return nil }
                base64 = Data()
            } else if text.isExactly("-----END CERTIFICATE-----") {
                guard let content = base64, let bytes = Data(base64Encoded: content), !bytes.isEmpty else { return nil }
                certificates.append(bytes)
                base64 = nil
            } else {
                base64?.append(contentsOf: text.utf8)
            }
        }
        return base64 == nil && !certificates.isEmpty ? certificates : nil
    }
}
