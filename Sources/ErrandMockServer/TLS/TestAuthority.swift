#if MockServer
internal import Crypto
public import ErrandCore
internal import NIOSSL
internal import SwiftASN1
internal import X509

/// A temporary certificate authority, created in this process. Only clients that are configured to trust the authority accept its
/// certificates.
///
/// ```swift
/// let authority = try TestAuthority()
/// try authority.writeCertificate(toPath: path)                   // for the client to trust
/// let server = try await MockServer.start(.tls(try authority.certificate()))
/// ```
///
/// Keys are on the curve P-256. By default, certificates are valid for 30 days from yesterday.
public struct TestAuthority: Sendable {
    /// The authority's name: the common name of its certificate.
    public let name: String
    /// The authority's own certificate, in PEM.
    public let certificatePEM: String
    private let key: P256.Signing.PrivateKey
    private let certificate: Certificate

    /// The names of this machine: `localhost`, `127.0.0.1` and `::1`.
    public static let localNames = ["localhost", "127.0.0.1", "::1"]

    /// Creates an authority with a new key.
    ///
    /// - Parameter name: the common name of the authority's certificate.
    /// - Throws: any error of creating the certificate.
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

    /// The time in which a certificate is valid.
    public enum Validity: Sendable, Hashable {
        /// The certificate is valid for 30 days from yesterday.
        case now
        /// The certificate was valid until yesterday, and has expired.
        case expired
        /// The certificate becomes valid tomorrow.
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

    /// Returns a server certificate with a new key.
    ///
    /// - Parameters:
    ///   - names: the host names and IP addresses that the certificate is for. Default: ``localNames``.
    ///   - validity: the time in which the certificate is valid. Default: ``Validity/now``.
    /// - Throws: any error of creating the certificate.
    public func certificate(for names: [String] = localNames, validity: Validity = .now) throws -> TestCertificate {
        let alternatives = names.map { name -> GeneralName in
            TestAuthority.address(name).map { .ipAddress(ASN1OctetString(contentBytes: $0[...])) } ?? .dnsName(name)
        }
        return try issue(names.first ?? "nobody", .serverAuth, alternatives, validity: validity)
    }

    /// Returns a client certificate with a new key, for mutual TLS.
    ///
    /// - Parameters:
    ///   - name: the certificate's common name.
    ///   - validity: the time in which the certificate is valid. Default: ``Validity/now``.
    /// - Throws: any error of creating the certificate.
    public func clientCertificate(name: String = "test client", validity: Validity = .now) throws -> TestCertificate {
        try issue(name, .clientAuth, validity: validity)
    }

    /// Writes the authority's certificate to a file, for clients that read it from a path.
    ///
    /// - Throws: any error of writing the file.
    public func writeCertificate(toPath path: String) throws { try Data(certificatePEM.utf8).write(to: URL(fileURLWithPath: path)) }

    /// The identifier of the authority's key in certificates
    /// ([RFC 5280, section 4.2.1.1](https://www.rfc-editor.org/rfc/rfc5280#section-4.2.1.1)).
    private var authorityIdentifier: AuthorityKeyIdentifier {
        AuthorityKeyIdentifier(keyIdentifier: SubjectKeyIdentifier(hash: Certificate.PublicKey(key.publicKey)).keyIdentifier)
    }

    private func issue(
        _ name: String, _ usage: ExtendedKeyUsage.Usage, _ alternatives: [GeneralName]? = nil, validity: Validity
    ) throws -> TestCertificate {
        let leafKey = P256.Signing.PrivateKey()
        let leaf = try Self.sign(
            subject: try DistinguishedName { CommonName(name) }, key: leafKey, by: certificate.subject, with: key, validity: validity,
            extensions: Certificate.Extensions {
                Critical(BasicConstraints.notCertificateAuthority)
                Critical(KeyUsage(digitalSignature: true))
                authorityIdentifier
                try ExtendedKeyUsage([usage])
                if let alternatives { SubjectAlternativeNames(alternatives) }
            })
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

    /// Returns the octets of an IP address; `nil` if `text` is a host name.
    static func address(_ text: String) -> [UInt8]? {
        if text == "::1" { return Array(repeating: 0, count: 15) + [1] }
        let parts = text.split(separator: ".", omittingEmptySubsequences: false)
        let octets = parts.compactMap { UInt8($0) }
        return parts.count == 4 && octets.count == 4 ? octets : nil
    }
}

/// A certificate that a ``TestAuthority`` issued, with its key. The certificate and the key are for tests only.
public struct TestCertificate: Sendable, CustomStringConvertible, HidesStorage {
    /// The certificate, in PEM.
    public let certificatePEM: String
    /// The private key, in PEM (PKCS #8).
    public let keyPEM: String

    /// Writes the certificate and the key to files, for programs that read certificates and keys from paths.
    ///
    /// - Throws: any error of writing the files.
    public func write(certificateToPath certificatePath: String, keyToPath keyPath: String) throws {
        try Data(certificatePEM.utf8).write(to: URL(fileURLWithPath: certificatePath))
        try Data(keyPEM.utf8).write(to: URL(fileURLWithPath: keyPath))
    }

    /// A description that leaves out the key.
    public var description: String { "TestCertificate" }
    /// A mirror that leaves out the key.
    package var shownFields: KeyValuePairs<String, Any> { ["certificate": certificatePEM] }
}

extension MockServer.TLS {
    func context(protocols: [MockServer.ApplicationProtocol]) throws -> NIOSSLContext {
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
