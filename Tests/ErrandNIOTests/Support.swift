#if NIO && MockServer
import ErrandCore
import ErrandNIO
import Testing

@Suite enum NIOTransportTests {}

/// Calls `body` with a transport, and shuts it down.
func withNIO<Result>(
    _ configure: (inout NIOTransport.Configuration) -> Void = { _ in }, _ body: (NIOTransport) async throws -> Result
) async throws -> Result {
    var configuration = NIOTransport.Configuration()
    configure(&configuration)
    return try await withTransport(try NIOTransport(configuration), body)
}
#endif
