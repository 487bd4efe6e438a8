#if MockServer
internal import Crypto
internal import ErrandCore
internal import NIOSSL
internal import SwiftASN1
internal import X509

/// A throw-away certificate authority, made in this process: nobody believes it who is not told to.
///
/// ```swift
/// let authority = try TestAuthority()
/// try authority.writeCertificate(toPath: path)                   // for the client to believe
/// let server = try await MockServer.start(.tls(try authority.certificate()))
/// ```
///
/// Keys are of P-256. All its certificates are valid from yesterday for 30 days, unless asked for otherwise.
public struct TestAuthority: Sendable {
    /// What it calls itself.
    public let name: String
    /// The authority's own certificate.
    public let certificatePEM: String
    private let key: P256.Signing.PrivateKey
    private let certificate: Certificate

    /// Names of this machine: `localhost`, `127.0.0.1` and `::1`.
    public static let localNames = ["localhost", "127.0.0.1", "::1"]

    public init(name: String = "Errand test authority") throws {
        let key = P256.Signing.PrivateKey()
        let subject = try DistinguishedName { CommonName(name) }
        let certificate = try Self.sign(
            subject: subject, key: key, by: subject, with: key, validity: .now,
            extensions: Certificate.Extensions {
                Critical(BasicConstraints.isCertificateAuthority(maxPathLength: nil))
                Critical(KeyUsage(keyCertSign: true, cRLSign: true))
                SubjectKeyIdentifier(hash: Certificate.PublicKey(key.publicKey))
            })
        (self.name, self.key, self.certificate) = (name, key, certificate)
        certificatePEM = try certificate.serializeAsPEM().pemString
    }

    /// When a certificate is valid.
    public enum Validity: Sendable, Hashable {
        /// From yesterday for 30 days.
        case now
        /// Its time is over since yesterday.
        case expired
        /// Its time begins tomorrow.
        case notYet

        fileprivate var range: (from: Date, to: Date) {
            let day = 86_400.0
            let days: (Double, Double) =
                switch self {
                case .now: (-1, 29)
                case .expired: (-30, -1)
                case .notYet: (1, 30)
                }
            return (Date().addingTimeInterval(days.0 * day), Date().addingTimeInterval(days.1 * day))
        }
    }

    /// A certificate of a server.
    ///
    /// - Parameters:
    ///   - names: of hosts, or addresses as text.
    ///   - validity: when it is valid; now by default.
    public func certificate(for names: [String] = localNames, validity: Validity = .now) throws -> TestCertificate {
        let alternatives = names.map { name -> GeneralName in
            TestAuthority.address(name).map { .ipAddress(ASN1OctetString(contentBytes: $0[...])) } ?? .dnsName(name)
        }
        let subject = try DistinguishedName { CommonName(names.first ?? "nobody") }
        return try issue(
            subject, validity: validity,
            extensions: Certificate.Extensions {
                Critical(BasicConstraints.notCertificateAuthority)
                Critical(KeyUsage(digitalSignature: true))
                authorityIdentifier
                try ExtendedKeyUsage([.serverAuth])
                SubjectAlternativeNames(alternatives)
            })
    }

    /// A certificate of a client, for mutual TLS.
    public func clientCertificate(name: String = "test client", validity: Validity = .now) throws -> TestCertificate {
        try issue(
            try DistinguishedName { CommonName(name) }, validity: validity,
            extensions: Certificate.Extensions {
                Critical(BasicConstraints.notCertificateAuthority)
                Critical(KeyUsage(digitalSignature: true))
                authorityIdentifier
                try ExtendedKeyUsage([.clientAuth])
            })
    }

    /// Writes the authority's certificate to a file, for clients that want a path.
    public func writeCertificate(toPath path: String) throws { try Data(certificatePEM.utf8).write(to: URL(fileURLWithPath: path)) }

    /// By which a certificate names the authority's key (RFC 5280, 4.2.1.1).
    private var authorityIdentifier: AuthorityKeyIdentifier {
        AuthorityKeyIdentifier(keyIdentifier: SubjectKeyIdentifier(hash: Certificate.PublicKey(key.publicKey)).keyIdentifier)
    }

    private func issue(_ subject: DistinguishedName, validity: Validity, extensions: Certificate.Extensions) throws -> TestCertificate {
        let leafKey = P256.Signing.PrivateKey()
        let leaf = try Self.sign(
            subject: subject, key: leafKey, by: certificate.subject, with: key, validity: validity, extensions: extensions)
        return TestCertificate(certificatePEM: try leaf.serializeAsPEM().pemString, keyPEM: leafKey.pemRepresentation)
    }

    private static func sign(
        subject: DistinguishedName, key: P256.Signing.PrivateKey, by issuer: DistinguishedName, with issuerKey: P256.Signing.PrivateKey,
        validity: Validity, extensions: Certificate.Extensions
    ) throws -> Certificate {
        let (from, to) = validity.range
        return try Certificate(
            version: .v3, serialNumber: Certificate.SerialNumber(), publicKey: Certificate.PublicKey(key.publicKey), notValidBefore: from,
            notValidAfter: to, issuer: issuer, subject: subject, signatureAlgorithm: .ecdsaWithSHA256, extensions: extensions,
            issuerPrivateKey: Certificate.PrivateKey(issuerKey))
    }

    /// The octets of an address; nil for what is a name.
    static func address(_ text: String) -> [UInt8]? {
        if text == "::1" { return Array(repeating: 0, count: 15) + [1] }
        let parts = text.split(separator: ".", omittingEmptySubsequences: false)
        let octets = parts.compactMap { UInt8($0) }
        return parts.count == 4 && octets.count == 4 ? octets : nil
    }
}

/// A certificate by a ``TestAuthority``, with its key. Both are secrets of a test alone.
public struct TestCertificate: Sendable, CustomStringConvertible {
    public let certificatePEM: String
    /// In PKCS #8.
    public let keyPEM: String

    /// Writes both to files, for programs that want paths.
    public func write(certificateToPath certificatePath: String, keyToPath keyPath: String) throws {
        try Data(certificatePEM.utf8).write(to: URL(fileURLWithPath: certificatePath))
        try Data(keyPEM.utf8).write(to: URL(fileURLWithPath: keyPath))
    }

    /// Without the key.
    public var description: String { "TestCertificate" }
}

extension TestCertificate: CustomReflectable {
    public var customMirror: Mirror { Mirror(self, children: ["certificate": certificatePEM]) }
}

extension MockServer.TLS {
    func context(protocols: [MockServer.HTTPVersion]) throws -> NIOSSLContext {
        func certificate(_ pem: String) throws -> NIOSSLCertificate { try NIOSSLCertificate(bytes: Array(pem.utf8), format: .pem) }
        var settings = TLSConfiguration.makeServerConfiguration(
            certificateChain: [.certificate(try certificate(self.certificate.certificatePEM))],
            privateKey: .privateKey(try NIOSSLPrivateKey(bytes: Array(self.certificate.keyPEM.utf8), format: .pem)))
        settings.applicationProtocols = protocols.map(\.rawValue)
        settings.minimumTLSVersion = versions.lowerBound == .tls12 ? .tlsv12 : .tlsv13
        settings.maximumTLSVersion = versions.upperBound == .tls12 ? .tlsv12 : .tlsv13
        if let clientAuthority {
            settings.trustRoots = .certificates([try certificate(clientAuthority.certificatePEM)])
            settings.certificateVerification = .noHostnameVerification
        }
        return try NIOSSLContext(configuration: settings)
    }
}
#endif
