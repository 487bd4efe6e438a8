#if NIO
internal import ErrandCore
internal import NIOCore
internal import NIOSSL

/// What a transport needs for its handshakes: the settings, and the contexts that are made of them.
///
/// All connections of a transport have the same settings, and a connection belongs to one route. Therefore the pool's key needs no part
/// for them.
struct TLSIdentity: Sendable {
    private let settings: TLSSettings
    private let verifying: TLSContext
    /// For the hosts whose certificates are not checked.
    private let unchecked: TLSContext
    /// The same two for proxies, to which no certificate of the client is presented.
    private let verifyingProxies: TLSContext
    private let uncheckedProxies: TLSContext
    /// For ``Side/addressInTunnel``: it checks the chain, and not the host.
    private let verifyingChains: TLSContext

    /// The other side of a handshake.
    private enum Side {
        case origin
        case proxy
        /// An origin whose host is an address, through a tunnel. NIOSSL compares the certificate with the address of the connection, which
        /// is the proxy's.
        case addressInTunnel
    }

    /// With the default settings.
    init() { self.init(TLSSettings(), TLSSettings().baseConfiguration) }

    /// Reads the files of the settings. The roots of the system are read at the first connection, because that takes 100 ms.
    ///
    /// - Throws: ``ErrandCore/TLSSettingsError``.
    init(_ settings: TLSSettings) throws { self.init(settings, try settings.nioConfiguration()) }

    private init(_ settings: TLSSettings, _ configuration: TLSConfiguration) {
        self.settings = settings
        verifying = TLSContext(configuration)
        var unchecked = configuration
        unchecked.certificateVerification = .none
        self.unchecked = TLSContext(unchecked)
        var proxies = configuration
        (proxies.certificateChain, proxies.privateKey, proxies.applicationProtocols) = ([], nil, ["http/1.1"])
        verifyingProxies = TLSContext(proxies)
        proxies.certificateVerification = .none
        uncheckedProxies = TLSContext(proxies)
        var chains = configuration
        chains.certificateVerification = .noHostnameVerification
        verifyingChains = TLSContext(chains)
    }

    /// Loads the contexts for the origin and for the proxy, unless they are there already.
    func load(for route: Route, on loop: any EventLoop) -> EventLoopFuture<Void> {
        var contexts: [EventLoopFuture<Void>] = []
        if route.origin.scheme == "https" { contexts.append(context(for: route.origin, side(of: route), on: loop).map { _ in }) }
        if let proxy = route.proxy, proxy.address.scheme == "https" {
            contexts.append(context(for: proxy.address, .proxy, on: loop).map { _ in })
        }
        return .andAllSucceed(contexts, on: loop)
    }

    private func context(for origin: Origin, _ side: Side, on loop: any EventLoop) -> EventLoopFuture<NIOSSLContext> {
        let isUnchecked = isUnchecked(origin)
        let context =
            switch side {
            case .origin: isUnchecked ? unchecked : verifying
            case .proxy: isUnchecked ? uncheckedProxies : verifyingProxies
            case .addressInTunnel: isUnchecked ? unchecked : verifyingChains
            }
        return context.value(on: loop)
    }

    private func side(of route: Route) -> Side {
        route.isTunnel && (try? IPAddress(route.origin.bareHost)) != nil ? .addressInTunnel : .origin
    }

    private func isUnchecked(_ origin: Origin) -> Bool { settings.trustsAnyCertificateForTesting.contains(origin.host) }

    /// Adds the handlers of TLS with the other side of a channel, the origin or the proxy, if there is TLS.
    func prepare(_ channel: any Channel, for route: Route) -> EventLoopFuture<Void> {
        guard route.peer.scheme == "https" else { return channel.eventLoop.makeSucceededVoidFuture() }
        return prepare(channel, for: route.peer, route.proxy == nil ? .origin : .proxy)
    }

    /// Adds the handlers of TLS with the origin to a channel whose tunnel is open.
    func prepareTunnel(_ channel: any Channel, for route: Route) -> EventLoopFuture<Void> {
        prepare(channel, for: route.origin, side(of: route))
    }

    /// Adds the handlers of TLS to a channel, as soon as the context is there: before the handler that waits for the handshake, if it is
    /// there already.
    private func prepare(_ channel: any Channel, for origin: Origin, _ side: Side) -> EventLoopFuture<Void> {
        context(for: origin, side, on: channel.eventLoop).flatMapThrowing { context in
            try addHandlers(to: channel.pipeline.syncOperations, context, for: origin, side, isUnchecked: isUnchecked(origin))
        }
    }

    private func addHandlers(
        to pipeline: ChannelPipeline.SynchronousOperations, _ context: NIOSSLContext, for origin: Origin, _ side: Side,
        isUnchecked: Bool
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
        let start = try? pipeline.handler(type: ConnectionStart.self)
        try pipeline.addHandler(tls, position: start.map { .before($0) } ?? .last)
        let address = side == .addressInTunnel && !isUnchecked ? try? IPAddress(origin.bareHost) : nil
        let watch = HandshakeWatch(
            tls, of: origin, name: isUnchecked ? nil : name, address: address, pins: pins, chain: chain,
            minimumVersion: settings.minimumVersion)
        try pipeline.addHandler(watch, position: .after(tls))
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
