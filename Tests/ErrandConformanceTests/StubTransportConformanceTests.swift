import Errand
import ErrandConformance
import ErrandTesting
import Testing

/// The stub transport, by the suite that a third party runs on its own.
@Suite(.timeLimit(.minutes(5))) struct StubTransportConformanceTests {
    static let noWire = "a stub has no wire for bytes that break its rules"
    static let noCoding = "a stub hands on what it was given; decoding is a transport's or a middleware's work"

    static let leftOut = [
        "NotHTTP": noWire, "BadHTTPCase": noWire, "NoReason": noWire, "204WithContentLength": noWire, "304WithContentLength": noWire,
        "IncompleteBody": noWire, "NoLengthHint": noWire, "ConflictingContentLength": noWire,
        "Gzip": noCoding, "Deflate": noCoding, "Brotli": noCoding,
        "BasicCookieSetAndUse": "there is no cookie middleware yet", "ETag": "there is no cache yet",
        "ShutdownEndsExchanges": "a stub has no connection to close: what it answered goes on, and later calls fail",
    ]

    @Test(arguments: TransportBehaviour.all(excluding: leftOut))
    func conforms(to behaviour: TransportBehaviour) async throws {
        let check = behaviour.prepared()
        let stub = StubTransport(check.stubs)
        try await check(TransportUnderTest(stub, at: "http://stub.example", middleware: [.redirect: { $0.redirect() }]))
        #expect(stub.openBodyCount == 0)
    }

    @Test func theThirtyNineCommonBehavioursAreCovered() {
        let names = """
            NotHTTP BadHTTPCase NoReason 204WithContentLength 304WithContentLength IncompleteBody NoLengthHint ConflictingContentLength Ok
            EchoString Gzip Deflate Brotli Identity CustomHeader BasicRedirect NotFound StatusOutOfRangeButValid StressTest GetConvenience
            PostConvenience CancelPreHeaders CancelPreBody Echo1MBBody UnderRead DripRead ClientSendsEmptyHeaderValue InfiniteRedirect
            HeadWithContentLength ServerSendsMultiValueHeader ClientSendsMultiValueHeader BasicCookieSetAndUse EchoInterleave SpeakInterleave
            EmptyChunkedBody URLParams ETag TrailerRead TrailerWrite
            """.split(whereSeparator: \.isWhitespace).map(String.init)
        #expect(names.count == 39)
        let covered = TransportBehaviour.all.map(\.name)
        #expect(Set(names).subtracting(covered).isEmpty)
        #expect(Set(covered).count == covered.count, "no name twice")
    }
}
