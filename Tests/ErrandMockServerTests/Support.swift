#if MockServer && AsyncHTTPClient
import Errand
import ErrandMockServer
import Foundation
import TestSupport
import Testing

/// The mock server over real sockets. One test after the other: some of them look at the time that something takes.
@Suite(.serialized, .timeLimit(.minutes(5)))
struct MockServerTests {}

/// Runs `body` with a transport of its own, which is shut down after it.
func withAHC<Result>(
    _ configure: (inout AsyncHTTPClientTransport.Configuration) -> Void = { _ in },
    _ body: (AsyncHTTPClientTransport) async throws -> Result
) async throws -> Result {
    var configuration = AsyncHTTPClientTransport.Configuration()
    configure(&configuration)
    return try await withTransport(try AsyncHTTPClientTransport(configuration), body)
}

/// The failure that `body` must end with.
func transportError(
    sourceLocation: SourceLocation = #_sourceLocation, _ body: () async throws -> some Any
) async throws -> TransportError {
    let error = await #expect(throws: TransportError.self, sourceLocation: sourceLocation) { _ = try await body() }
    return try #require(error, sourceLocation: sourceLocation)
}

extension HTTPSender {
    /// The response to `request` with its whole body.
    func whole(_ request: Request, upTo limitBytes: Int = 64 * 1024 * 1024) async throws -> (response: Response, body: Data) {
        let response = try await send(request)
        return (response, try await response.body.collect(upTo: limitBytes))
    }

    /// The text behind a GET of `url`.
    func text(_ url: String) async throws -> String {
        String(decoding: try await whole(Request(.get, url: url)).body, as: UTF8.self)
    }
}

extension Request {
    /// This request with a deadline.
    func within(_ duration: Duration) -> Request {
        var copy = self
        copy.deadline = Deadline(after: duration)
        return copy
    }
}

/// A certificate authority whose certificate is in a file.
struct FileAuthority {
    let authority: TestAuthority
    let folder: TestFolder

    init() throws {
        (authority, folder) = (try TestAuthority(), try TestFolder("authority"))
        try authority.writeCertificate(toPath: path)
    }

    var path: String { folder.file("authority.pem") }
}

/// What `curl` says; nil where it is not here.
func curl(_ arguments: String...) async throws -> String {
    let path = try #require(Programs.find("curl"))
    return try await Programs.run(path, ["--silent", "--show-error", "--max-time", "20", "--noproxy", "*"] + arguments)
}

let haveCurl = Programs.find("curl") != nil
#endif
