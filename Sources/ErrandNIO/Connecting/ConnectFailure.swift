#if SWIFT_NIO
internal import ErrandCore
internal import NIOCore
internal import NIOPosix

/// The failure of an attempt to connect.
struct ConnectFailure {
    let error: any Error
    let settings: NIOTransport.Configuration

    init(_ error: any Error, _ settings: NIOTransport.Configuration) { (self.error, self.settings) = (error, settings) }

    func failure(of exchange: Exchange) -> any Error {
        if error is CancellationError { return error }
        let (code, message) = codeAndMessage(of: exchange.route)
        return blaming(
            exchange.failure(code, phase: .connect, message: message, underlying: cause, delivery: .notSent), on: exchange.route)
    }

    /// Returns the error of a failed attempt of `preconnect`, which has no exchange.
    func failure(of route: Route) -> any Error {
        if error is CancellationError { return error }
        let (code, message) = codeAndMessage(of: route)
        return blaming(TransportError(code, phase: .connect, message: message, underlying: cause, to: route.origin), on: route)
    }

    /// Adds the name of the proxy to the failure if the proxy has failed.
    private func blaming(_ failure: TransportError, on route: Route) -> TransportError {
        var failure = failure
        failure.proxy = failedProxy(on: route)
        failure.proxyCredentials = (error as? ProxyFailure)?.credentials
        return failure
    }

    private func failedProxy(on route: Route) -> ProxyAddress? {
        switch error {
        // Through a tunnel, the TLS handshake is made with the origin. Therefore, a failed handshake is not a failure of the proxy.
        case is HandshakeFailure where route.isTunnel: nil
        case let error as ConnectTimeoutError: error.proxy
        default: route.proxy?.shown
        }
    }

    private var cause: any Error {
        switch error {
        case let error as HostLookupFailure: error.cause
        case let error as HandshakeFailure: error.underlying
        case let error as ProxyFailure: error.underlying ?? error
        default: error
        }
    }

    private func codeAndMessage(of route: Route) -> (TransportError.Code, String) {
        let (code, message) = codeAndMessage(at: route.peer)
        guard let proxy = failedProxy(on: route), !(error is ProxyFailure || error is ConnectTimeoutError) else { return (code, message) }
        return (code, "the \(proxy): \(message)")
    }

    private func codeAndMessage(at origin: Origin) -> (TransportError.Code, String) {
        switch error {
        case let error as ProxyFailure: return (error.code, error.message)
        case let error as HostLookupFailure: return (.cannotFindHost, "'\(error.host)'" + Self.reason(error.cause))
        case let error as NIOConnectionError:
            if let failure = error.connectionErrors.lazy.compactMap({ $0.error as? HandshakeFailure }).first {
                return (failure.code, failure.message)
            }
            let tried = TriedAddresses(error.connectionErrors.map { ($0.target, $0.error) })
            return (tried.showThatDeviceIsOffline ? .notConnected : .cannotConnect, "\(tried)" + localAddress)
        case is NoUsableAddressError:
            let local = settings.localAddress.map { " (\($0))" } ?? ""
            return (.cannotConnect, "'\(origin.bareHost)' has no address of the same address family as localAddress\(local)")
        case let error as ConnectTimeoutError:
            let limit = "the limit connectTimeout is \(settings.connectTimeout.inWords), set by NIOTransport.Configuration"
            return (.timedOut, limit + error.progress)
        case let error as HandshakeFailure: return (error.code, error.message)
        default:
            if FailureText.isOfTLS(error) { return (.tls, FailureText.of(error)) }
            guard let path = settings.unixSocketPath else { return (.cannotConnect, FailureText.of(error)) }
            return (.cannotConnect, "'\(path.shownSafely())': \(FailureText.of(error))")
        }
    }

    private static func reason(_ cause: any Error) -> String {
        let text = (cause as? HostNotFoundError).map(\.reason) ?? safeDescription(of: cause)
        return text.isEmpty ? "" : ": \(text.shownSafely())"
    }

    /// The text about the configured local address; empty if no address is configured.
    private var localAddress: String { settings.localAddress.map { " (localAddress is \($0))" } ?? "" }
}

extension TransportError {
    /// Creates the error of a failed attempt to connect that has no request.
    init(_ code: Code, phase: ExchangePhase, message: String = "", underlying: (any Error)? = nil, to origin: Origin) {
        self.init(code, phase: phase, message: message, underlying: underlying, request: nil, delivery: .notSent)
        self.origin = origin
    }
}
#endif
