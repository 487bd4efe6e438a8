#if SWIFT_NIO
internal import Errand
internal import TestSupport

/// Runs `body` with nginx, and with a stack whose requests go there through a proxy.
///
/// - Parameter change: changes the configuration of the transport.
func withStack<Result>(
    through proxy: ProxySettings, _ change: (inout NIOTransport.Configuration) -> Void = { _ in },
    _ body: (HTTPStack, NginxServer) async throws -> Result
) async throws -> Result {
    let nginx = try await NginxServer.shared()
    var configuration = NIOTransport.Configuration()
    configuration.proxy = .all(proxy)
    configuration.tls.extraRootsPEMFiles = [nginx.certificates.authority]
    change(&configuration)
    return try await withTransport(try NIOTransport(configuration)) { transport in
        try await body(transport.timeout(.seconds(20)), nginx)
    }
}
#endif
