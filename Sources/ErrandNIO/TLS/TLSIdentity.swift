#if SWIFT_NIO
internal import ErrandCore
internal import NIOCore
internal import NIOSSL

/// The settings of a transport's handshakes, and the contexts made from the settings.
///
/// All connections of a transport have the same settings, and a connection belongs to one route. Therefore the pool's key needs only
/// ``Route/needsHTTP1`` to distinguish handshakes.
struct TLSIdentity: Sendable {
    private let settings: TLSSettings
    private let allowsHTTP2: Bool
    private let contexts: TLSContexts
    /// The authorities in the files of the settings.
    private let roots: [NIOSSLCertificate]

    /// Creates an identity with the default settings.
    init(allowsHTTP2: Bool = false) { self.init(TLSSettings(), TLSSettings().baseConfiguration, allowsHTTP2: allowsHTTP2) }

    /// Reads the files of the settings. The roots of the system are read at the first connection, because reading the roots
    /// takes about 100 ms.
    ///
    /// - Throws: ``ErrandCore/TLSSettingsError``.
    init(_ settings: TLSSettings, allowsHTTP2: Bool) throws {
        self.init(settings, try settings.nioConfiguration(), allowsHTTP2: allowsHTTP2)
    }

    private init(_ settings: TLSSettings, _ configuration: TLSConfiguration, allowsHTTP2: Bool) {
        (self.settings, self.allowsHTTP2) = (settings, allowsHTTP2)
        contexts = TLSContexts(configuration)
        roots = configuration.additionalTrustRoots.flatMap { added -> [NIOSSLCertificate] in
            if case .certificates(let roots) = added { roots } else { [] }
        }
    }

    /// A handshake with one side of a route.
    private struct Handshake {
        let side: Origin
        let kind: TLSContexts.Kind
    }

    private func handshake(withOriginOf route: Route) -> Handshake {
        Handshake(
            side: route.origin, kind: .init(validates: validates(route.origin), offersHTTP2: allowsHTTP2 && !route.needsHTTP1))
    }

    private func handshake(with proxy: ProxyServer) -> Handshake {
        Handshake(side: proxy.address, kind: .init(isOfProxy: true, validates: validates(proxy.address)))
    }

    private func validates(_ side: Origin) -> Bool { !settings.uncheckedHostsForTesting.contains(side.host) }

    /// Loads the missing contexts for the origin and for the proxy.
    func load(for route: Route, on loop: any EventLoop) -> EventLoopFuture<Void> {
        var handshakes: [Handshake] = []
        if route.origin.scheme.isExactly("https") { handshakes.append(handshake(withOriginOf: route)) }
        if let proxy = route.proxy, proxy.address.scheme.isExactly("https") { handshakes.append(handshake(with: proxy)) }
        return .andAllSucceed(handshakes.map { contexts[$0.kind].value(on: loop).map { _ in } }, on: loop)
    }

    /// Adds the TLS handlers for the peer of a channel (the origin or the proxy), if the peer uses TLS.
    func prepare(_ channel: any Channel, for route: Route) -> EventLoopFuture<Void> {
        guard route.peer.scheme.isExactly("https") else { return channel.eventLoop.makeSucceededVoidFuture() }
        return prepare(channel, for: route.proxy.map { handshake(with: $0) } ?? handshake(withOriginOf: route))
    }

    /// Adds the TLS handlers for the origin to a channel whose tunnel is open.
    func prepareTunnel(_ channel: any Channel, for route: Route) -> EventLoopFuture<Void> {
        prepare(channel, for: handshake(withOriginOf: route))
    }

    /// Adds the TLS handlers to a channel as soon as the context is loaded. If ``ConnectionStart`` is in the pipeline, the TLS handlers
    /// come before ``ConnectionStart``.
    private func prepare(_ channel: any Channel, for handshake: Handshake) -> EventLoopFuture<Void> {
        contexts[handshake.kind].value(on: channel.eventLoop).flatMapThrowing { context in
            try addHandlers(to: channel.pipeline.syncOperations, context, for: handshake)
        }
    }

    private func addHandlers(
        to pipeline: ChannelPipeline.SynchronousOperations, _ context: NIOSSLContext, for handshake: Handshake
    ) throws {
        let (origin, validates) = (handshake.side, handshake.kind.validates)
        let host = String(CertificateNames.withoutTrailingDot(origin.bareHost))
        // SNI does not allow addresses (RFC 6066, section 3). If the host is neither a name nor an address, the host is compared as a name,
        // and matches no certificate.
        let address = try? IPAddress(host)
        let name = (try? SocketAddress(ipAddress: host, port: 0)) == nil && address == nil ? host : nil
        let pins = settings.pins.flatMap { $0.pins(for: origin.host).isEmpty ? nil : $0 }
        let tls: NIOSSLClientHandler
        var chain: ValidatedChain?
        if pins == nil || !validates {
            tls = try NIOSSLClientHandler(context: context, serverHostname: name)
        } else {
            let followed = ValidatedChain()
            tls = try followed.handler(NIOSSLClientHandler.self, context, name)
            chain = followed
        }
        let start = try? pipeline.handler(type: ConnectionStart.self)
        try pipeline.addHandler(tls, position: start.map { .before($0) } ?? .last)
        let identity: HandshakeWatch.Identity = validates ? address.map { .address($0) } ?? .name(host) : .any
        let watch = HandshakeWatch(
            tls, of: origin, identity, pins: pins, chain: chain, minimumVersion: settings.minimumVersion, roots: roots)
        try pipeline.addHandler(watch, position: .after(tls))
    }
}

extension TLSSettings {
    fileprivate var baseConfiguration: TLSConfiguration {
        var tls = TLSConfiguration.makeClientConfiguration()
        tls.minimumTLSVersion = minimumVersion == .tls13 ? .tlsv13 : .tlsv12
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
        // A context without the roots of the system is created quickly. A context without roots also shows whether the key belongs to the
        // certificate.
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
        // For a missing file, BoringSSL reports that the file contains no certificate.
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
