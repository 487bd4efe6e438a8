#if AsyncHTTPClient
public import ErrandAsyncHTTPClient
internal import ErrandCore

/// Runs `body` with its own transport, which is shut down afterwards.
public func withAHC<Result>(
    _ configure: (inout AsyncHTTPClientTransport.Configuration) -> Void = { _ in },
    _ body: (AsyncHTTPClientTransport) async throws -> Result
) async throws -> Result {
    var configuration = AsyncHTTPClientTransport.Configuration()
    configure(&configuration)
    return try await withTransport(try AsyncHTTPClientTransport(configuration), body)
}
#endif
