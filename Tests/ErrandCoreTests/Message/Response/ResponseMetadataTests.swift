import Errand
import ErrandTesting
import TestSupport
import Testing

@Suite(.timeLimit(.minutes(5))) struct ResponseMetadataTests {
    private enum SecretKey: MetadataKey { static var defaultValue: String? { nil } }

    @Test func metadataPrintsInWords() async throws {
        let stub = StubTransport(
            Stub(.get, "/x").responds(.status(.serviceUnavailable, headers: [.retryAfter: "0"]), .redirect(to: "/y")),
            Stub(.get, "/y").responds(.status(.ok)))
        var metadata = try await stub.redirect().retry().number().send(try request()).metadata
        let number = try #require(metadata.requestNumber)
        #expect("\(metadata)" == "request \(number), 1 earlier attempt, 1 redirect")
        metadata.httpVersion = .http2
        metadata.contentCoding = "gzip"
        metadata[SecretKey.self] = "s3cret"
        #expect("\(metadata)" == "HTTP/2, request \(number), 1 earlier attempt, 1 redirect, body was gzip")
        #expect("\(ResponseMetadata())" == "no metadata")
    }
}
