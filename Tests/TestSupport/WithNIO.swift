#if SWIFT_NIO
internal import ErrandCore
public import ErrandNIO

/// Runs `body` with its own transport, which is shut down afterwards.
public func withNIO<Result>(
    _ configure: (inout NIOTransport.Configuration) throws -> Void = { _ in }, _ body: (NIOTransport) async throws -> Result
) async throws -> Result {
    var configuration = NIOTransport.Configuration()
    try configure(&configuration)
    return try await withTransport(try NIOTransport(configuration), body)
}
#endif
