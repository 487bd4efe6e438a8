#if SWIFT_NIO
internal import ErrandCore
internal import ErrandFormats

/// The parts of a certificate that can make BoringSSL refuse the certificate, although the authority of the certificate is
/// known. The parts are read from the certificate's bytes in DER.
///
/// NIOSSL does not report why a chain was refused. These parts only determine the words of the error, and never decide
/// whether a certificate is accepted.
struct CertificateRules {
    /// The bytes of the names, in DER.
    let issuer: ArraySlice<UInt8>
    let subject: ArraySlice<UInt8>
    private let extensions: [ArraySlice<UInt8>: ArraySlice<UInt8>]

    /// Reads a certificate; `nil` if its parts are not found. Work and memory are in proportion to the size of the certificate.
    init?(_ bytes: [UInt8]) {
        guard let parts = CertificateParts(bytes[...]) else { return nil }
        (issuer, subject) = (parts.issuer, parts.subject)
        var fields = parts.rest
        var extensions: [ArraySlice<UInt8>: ArraySlice<UInt8>] = [:]
        while let (tag, content) = fields.read() {
            guard tag == .extensions else { continue }
            var content = content
            guard var list = content.read(.sequence) else { return nil }
            while var item = list.read(.sequence) {
                guard let name = item.read(.identifier) else { return nil }
                _ = item.read(.boolean)
                extensions[name.rest] = item.read(.octets)?.rest
            }
        }
        self.extensions = extensions
    }

    /// Whether the extended key usage allows the certificate for servers
    /// ([RFC 5280, section 4.2.1.12](https://www.rfc-editor.org/rfc/rfc5280#section-4.2.1.12)).
    var allowsServers: Bool {
        guard let value = extensions[Self.extendedKeyUsage] else { return true }
        var outer = DERReader(value)
        guard var list = outer.read(.sequence) else { return true }
        while let purpose = list.read(.identifier) {
            if purpose.rest == Self.serverAuthentication { return true }
        }
        return false
    }

    /// Returns the first name in `names` that the name constraints of this certificate do not allow ([RFC 5280, section
    /// 4.2.1.10](https://www.rfc-editor.org/rfc/rfc5280#section-4.2.1.10)); `nil` if all names are allowed.
    func firstForbidden(_ names: [AlternativeName]) -> AlternativeName? {
        guard let value = extensions[Self.nameConstraints] else { return nil }
        var outer = DERReader(value)
        guard var lists = outer.read(.sequence) else { return nil }
        let permitted = Self.names(lists.read(.permitted))
        let excluded = Self.names(lists.read(.excluded))
        return names.first { name in
            let ofKind = permitted.filter { $0.tag == name.tag }
            return excluded.contains(where: name.isWithin) || !ofKind.isEmpty && !ofKind.contains(where: name.isWithin)
        }
    }

    private static func names(_ list: DERReader?) -> [AlternativeName] {
        var (list, names) = (list, [AlternativeName]())
        while var subtree = list?.read(.sequence), let (tag, content) = subtree.read() {
            names.append(AlternativeName(tag: tag, bytes: Array(content.rest)))
        }
        return names
    }

    private static let extendedKeyUsage: ArraySlice<UInt8> = [0x55, 0x1D, 0x25]
    private static let nameConstraints: ArraySlice<UInt8> = [0x55, 0x1D, 0x1E]
    private static let serverAuthentication: ArraySlice<UInt8> = [0x2B, 6, 1, 5, 5, 7, 3, 1]
}

/// A name in a certificate or in a constraint: a host or an address.
struct AlternativeName: Hashable, CustomStringConvertible {
    fileprivate let tag: DERReader.Tag
    let bytes: [UInt8]

    static func host(_ name: some StringProtocol) -> AlternativeName { AlternativeName(tag: .hostName, bytes: Array(name.utf8)) }
    static func address(_ octets: [UInt8]) -> AlternativeName { AlternativeName(tag: .address, bytes: octets) }

    fileprivate init(tag: DERReader.Tag, bytes: [UInt8]) { (self.tag, self.bytes) = (tag, bytes) }

    /// The host or the address. Bytes that are not UTF-8 are replaced.
    var description: String {
        (tag == .address ? IPAddress(octets: bytes)?.description : nil) ?? String(decoding: bytes, as: UTF8.self)
    }

    /// Whether the name is within a subtree.
    func isWithin(_ subtree: AlternativeName) -> Bool {
        guard tag == subtree.tag else { return false }
        let base = subtree.bytes
        switch tag {
        case .address:
            // The subtree consists of an address and a mask.
            let count = bytes.count
            guard base.count == 2 * count else { return false }
            return (0..<count).allSatisfy { bytes[$0] & base[count + $0] == base[$0] & base[count + $0] }
        case .hostName:
            guard bytes.count > base.count else { return bytes.elementsEqual(base) { $0.asciiLowercased == $1.asciiLowercased } }
            let dot = UInt8(ascii: ".")
            return bytes.suffix(base.count).elementsEqual(base) { $0.asciiLowercased == $1.asciiLowercased }
                && (base.isEmpty || base.first == dot || bytes[bytes.count - base.count - 1] == dot)
        default: return false
        }
    }
}
#endif
