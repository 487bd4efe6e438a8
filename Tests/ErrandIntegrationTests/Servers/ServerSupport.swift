#if SWIFT_NIO
internal import Errand
internal import Foundation
internal import TestSupport
internal import Testing

/// Runs `body` with a client of `stand`, over a transport of its own that is shut down after it.
///
/// - Parameter layers: the layers between the transport and `server`.
func withClient<Result>(
    of stand: RealServer, decompressing: Bool = false, layers: (HTTPStack) -> HTTPStack = { $0 },
    _ body: (APIClient) async throws -> Result
) async throws -> Result {
    let url = try stand.url()
    return try await withTransport(NIOTransport()) { transport in
        let bytes = decompressing ? transport.decompress() : HTTPStack(transport)
        return try await body(APIClient(layers(bytes).server(url)))
    }
}

/// The `timedOut` that `body` must end with, when `deadline` has passed and not much later.
func timeout(
    after deadline: Duration, sourceLocation: SourceLocation = #_sourceLocation, of body: () async throws -> some Any
) async throws -> TransportError {
    let started = ContinuousClock.now
    let failure = try await failure(TransportError.self, sourceLocation: sourceLocation, of: body)
    let took = ContinuousClock.now - started
    #expect(failure.code == .timedOut, sourceLocation: sourceLocation)
    #expect(took > deadline - .milliseconds(50) && took < deadline + .seconds(5), "\(took)", sourceLocation: sourceLocation)
    return failure
}

extension HTTPField.Name {
    /// A field that means nothing to anyone.
    static var test: Self { Self("X-Test")! }
}

/// Credentials as Basic has them (RFC 7617).
func basic(_ name: String, _ password: String) -> String { "Basic " + Data("\(name):\(password)".utf8).base64EncodedString() }
#endif
