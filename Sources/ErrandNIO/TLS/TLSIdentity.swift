#if NIO
internal import ErrandCore
internal import NIOCore
internal import NIOSSL

/// What a transport needs for its handshakes: the settings, and the contexts that are made of them.
///
/// All connections of a transport have the same settings, and a connection belongs to one origin. The pool's key says whether HTTP/2 is
/// offered.
struct TLSIdentity: Sendable {
    private let settings: TLSSettings
    /// A context for each kind of connection, made when the first needs it.
    private let contexts: Contexts

    private struct Contexts: Sendable {
        let verifying: TLSContext
        /// For the hosts whose certificates are not checked.
        let unchecked: TLSContext
        /// The same two without HTTP/2.
        let verifyingHTTP1: TLSContext
        let uncheckedHTTP1: TLSContext
    }

    /// With the default settings.
    init(allowsHTTP2: Bool = false) { self.init(TLSSettings(), TLSSettings().baseConfiguration, allowsHTTP2: allowsHTTP2) }

    /// Reads the files of the settings. The roots of the system are read at the first connection, because that takes 100 ms.
    ///
    /// - Throws: ``ErrandCore/TLSSettingsError``.
    init(_ settings: TLSSettings, allowsHTTP2: Bool) throws {
        self.init(settings, try settings.nioConfiguration(), allowsHTTP2: allowsHTTP2)
    }

    private init(_ settings: TLSSettings, _ configuration: TLSConfiguration, allowsHTTP2: Bool) {
        self.settings = settings
        let (verifying, unchecked) = (configuration, configuration.unchecked)
        let (verifyingHTTP1, uncheckedHTTP1) = (TLSContext(verifying), TLSContext(unchecked))
        contexts = Contexts(
            verifying: allowsHTTP2 ? TLSContext(verifying.withHTTP2) : verifyingHTTP1,
            unchecked: allowsHTTP2 ? TLSContext(unchecked.withHTTP2) : uncheckedHTTP1, verifyingHTTP1: verifyingHTTP1,
            uncheckedHTTP1: uncheckedHTTP1)
    }

    /// Loads the context for an origin, unless it is there already.
    func load(for key: ConnectionKey, on loop: any EventLoop) -> EventLoopFuture<Void> { context(for: key, on: loop).map { _ in } }

    private func context(for key: ConnectionKey, on loop: any EventLoop) -> EventLoopFuture<NIOSSLContext> {
        let context =
            switch (isUnchecked(key.origin), key.needsHTTP1) {
            case (false, false): contexts.verifying
            case (true, false): contexts.unchecked
            case (false, true): contexts.verifyingHTTP1
            case (true, true): contexts.uncheckedHTTP1
            }
        return context.value(on: loop)
    }

    private func isUnchecked(_ origin: Origin) -> Bool { settings.trustsAnyCertificateForTesting.contains(origin.host) }

    /// Adds the handlers of TLS to a channel, as soon as the context is there.
    func prepare(_ channel: any Channel, for key: ConnectionKey) -> EventLoopFuture<Void> {
        context(for: key, on: channel.eventLoop).flatMapThrowing { context in
            try addHandlers(to: channel.pipeline.syncOperations, context, for: key.origin, isUnchecked: isUnchecked(key.origin))
        }
    }

    private func addHandlers(
        to pipeline: ChannelPipeline.SynchronousOperations, _ context: NIOSSLContext, for origin: Origin, isUnchecked: Bool
    ) throws {
        // An address is no name for SNI (RFC 6066, section 3); the certificate is then checked for the address of the server.
        let isAddress = (try? SocketAddress(ipAddress: origin.bareHost, port: 0)) != nil
        let name = isAddress ? nil : origin.bareHost
        let pins = settings.pins.flatMap { $0.pins(for: origin.host).isEmpty ? nil : $0 }
        let tls: NIOSSLClientHandler
        var chain: ValidatedChain?
        if pins == nil || isUnchecked {
            tls = try NIOSSLClientHandler(context: context, serverHostname: name)
        } else {
            let followed = ValidatedChain()
            tls = try followed.handler(NIOSSLClientHandler.self, context, name)
            chain = followed
        }
        try pipeline.addHandler(tls)
        try pipeline.addHandler(
            HandshakeWatch(
                tls, of: origin, name: isUnchecked ? nil : name, pins: pins, chain: chain, minimumVersion: settings.minimumVersion))
    }
}

extension TLSConfiguration {
    /// The same, but certificates are not checked.
    fileprivate var unchecked: TLSConfiguration {
        var tls = self
        tls.certificateVerification = .none
        return tls
    }

    /// The same, but HTTP/2 is offered first ([RFC 9113, section 3.2](https://www.rfc-editor.org/rfc/rfc9113#section-3.2)).
    fileprivate var withHTTP2: TLSConfiguration {
        var tls = self
        tls.applicationProtocols = ["h2", "http/1.1"]
        return tls
    }
}

extension TLSSettings {
    fileprivate var baseConfiguration: TLSConfiguration {
        var tls = TLSConfiguration.makeClientConfiguration()
        tls.minimumTLSVersion = minimumVersion == .tls13 ? .tlsv13 : .tlsv12
        tls.applicationProtocols = ["http/1.1"]
        return tls
    }

    /// Returns the settings as a configuration of NIOSSL, with the contents of their files.
    ///
    /// - Throws: ``ErrandCore/TLSSettingsError`` for files that can't be read.
    func nioConfiguration() throws -> TLSConfiguration {
        var tls = baseConfiguration
        tls.additionalTrustRoots = try extraRootsPEMFiles.map { .certificates(try Self.certificates(in: $0)) }
        guard let clientCertificate else { return tls }
        tls.certificateChain = try Self.certificates(in: clientCertificate.chainPEMFile).map { .certificate($0) }
        let keyFile = clientCertificate.keyPEMFile
        tls.privateKey = .privateKey(try Self.read(keyFile) { try NIOSSLPrivateKey(file: keyFile, format: .pem) })
        // A context without the roots of the system is made fast. It shows whether the key belongs to the certificate.
        var sample = tls
        sample.certificateVerification = .none
        do {
            _ = try NIOSSLContext(configuration: sample)
        } catch {
            throw TLSSettingsError(.unreadableFile, of: keyFile, "the private key does not belong to the certificate")
        }
        return tls
    }

    private static func certificates(in file: String) throws -> [NIOSSLCertificate] {
        let certificates = try read(file) { try NIOSSLCertificate.fromPEMFile(file) }
        guard !certificates.isEmpty else {
            throw TLSSettingsError(.unreadableFile, of: file, "it contains no certificate in PEM form")
        }
        return certificates
    }

    private static func read<Value>(_ file: String, _ body: () throws -> Value) throws -> Value {
        // BoringSSL says of a missing file that it contains no certificate.
        if let problem = ReadOnlyFile.problem(path: file) {
            throw TLSSettingsError(.unreadableFile, of: file, systemErrorText(problem.code))
        }
        do {
            return try body()
        } catch {
            throw TLSSettingsError(.unreadableFile, of: file, FailureText.of(error))
        }
    }
}
#endif
