internal import ErrandCore
internal import Foundation

/// The public key of a certificate. The hash of this key is a pin.
enum PublicKeyInfo {
    /// Returns the SubjectPublicKeyInfo of a certificate in DER, with its tag and its length
    /// ([RFC 5280, section 4.1](https://www.rfc-editor.org/rfc/rfc5280#section-4.1)). `nil` if the certificate can't be read.
    static func bytes(ofCertificate certificate: Data) -> Data? {
        var outer = DERReader(Array(certificate)[...])
        guard var content = outer.read(.sequence), var fields = content.read(.sequence) else { return nil }
        _ = fields.read(.version)
        // The fields are the serial number, the algorithm, the issuer, the dates and the subject.
        for _ in 0..<5 { guard fields.read() != nil else { return nil } }
        let start = fields.rest
        guard fields.read(.sequence) != nil else { return nil }
        return Data(start.prefix(start.count - fields.rest.count))
    }
}
