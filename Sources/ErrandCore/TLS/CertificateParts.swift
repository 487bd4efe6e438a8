/// The parts of a certificate in DER ([RFC 5280, section 4.1](https://www.rfc-editor.org/rfc/rfc5280#section-4.1)).
package struct CertificateParts {
    /// The names of the issuer and the subject, in DER.
    package let issuer: ArraySlice<UInt8>
    package let subject: ArraySlice<UInt8>
    /// The SubjectPublicKeyInfo, with its tag and its length. The hash of these bytes is a pin.
    package let publicKeyInfo: ArraySlice<UInt8>
    /// The parts after the public key, such as the extensions.
    package let rest: DERReader

    /// Reads a certificate. `nil` if the parts are not found. Work and memory are in proportion to the size of the certificate.
    package init?(_ certificate: ArraySlice<UInt8>) {
        var outer = DERReader(certificate)
        guard var content = outer.read(.sequence), var fields = content.read(.sequence) else { return nil }
        _ = fields.read(.version)
        // The fields are the serial number, the algorithm, the issuer, the dates and the subject.
        guard fields.read() != nil, fields.read() != nil, let issuer = fields.read(.sequence), fields.read() != nil,
            let subject = fields.read(.sequence)
        else { return nil }
        let start = fields.rest
        guard fields.read(.sequence) != nil else { return nil }
        (self.issuer, self.subject, rest) = (issuer.rest, subject.rest, fields)
        publicKeyInfo = start.prefix(start.count - fields.rest.count)
    }
}
