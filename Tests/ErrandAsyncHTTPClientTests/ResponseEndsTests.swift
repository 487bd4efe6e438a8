#if AsyncHTTPClient
internal import Errand
@testable internal import ErrandAsyncHTTPClient
internal import Testing

/// Where a response of HTTP/1.1 ends, at every place where the bytes can be split into reads.
@Suite(.timeLimit(.minutes(5))) struct ResponseEndsTests {
    struct Message: Sendable, CustomTestStringConvertible {
        let head: String
        let body: String
        var length: Int64?
        var isChunked = false

        var testDescription: String { head + body }
    }

    static let messages = [
        Message(head: "HTTP/1.1 204 No Content\r\n\r\n", body: ""),
        Message(head: "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n", body: "", length: 0),
        Message(head: "HTTP/1.1 304 Not Modified\r\nContent-Length: 5\r\n\r\n", body: "", length: 5),
        Message(head: "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\n", body: "whole", length: 5),
        Message(head: "HTTP/1.1 200 OK\r\nContent-Length: 6\r\n\r\n", body: "\r\n\r\n\r\n", length: 6),
        Message(
            head: "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n", body: "3;x=y\r\nw\n\n\r\n2\r\nle\r\n0\r\n\r\n", isChunked: true),
        Message(head: "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n", body: "0\r\nX-T: x\r\nY: z\r\n\r\n", isChunked: true),
        Message(head: "HTTP/1.1 103 Early\r\nLink: <a>\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: 1\r\n\r\n", body: "\n", length: 1),
        Message(head: "\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: 1\r\n\r\n", body: "1", length: 1),
    ]

    static let leftovers = ["", "H", "\n", "\r\n", "0\r\n\r\n", "HTTP/1.1 307 X\r\nLocation: /x\r\nX-S: ", "HTTP/1.1 103 X\r\n\r\n"]

    /// Gives the reads to a decoder that is known to be right; whether the connection is spent at the end of the response, and whether it is
    /// after the last read.
    private func decode(_ message: Message, _ reads: [[UInt8]]) -> (atEnd: Bool?, afterAll: Bool) {
        let headEnd = message.head.utf8.count
        let end = headEnd + message.body.utf8.count
        var (ends, consumed) = (ResponseEnds(), 0)
        var atEnd: Bool?
        var isHeadDecoded = false
        ends.requestBegan()
        for read in reads {
            var rest = read[...]
            while !rest.isEmpty {
                guard ends.isAwaiting else {
                    ends.unexpected()
                    break
                }
                let count = Array(rest).withUnsafeBytes { ends.piece(of: $0) }
                guard count > 0 else { return (nil, true) }
                rest = rest.dropFirst(count)
                consumed += count
                if consumed >= headEnd, !isHeadDecoded {
                    isHeadDecoded = true
                    ends.headEnded(length: message.length, isChunked: message.isChunked)
                }
                if consumed >= end, atEnd == nil {
                    ends.responseEnded()
                    atEnd = ends.isSpent
                }
                ends.pieceDecoded()
            }
        }
        return (atEnd, ends.isSpent)
    }

    @Test(arguments: messages, leftovers)
    func bytesAfterAResponseSpendTheConnection(message: Message, leftover: String) {
        let bytes = Array((message.head + message.body + leftover).utf8)
        let end = bytes.count - leftover.utf8.count
        for split in 0...bytes.count {
            let reads = [Array(bytes[..<split]), Array(bytes[split...])]
            let (atEnd, afterAll) = decode(message, reads)
            #expect(atEnd == (!leftover.isEmpty && split != end), "split at \(split)")
            #expect(afterAll == !leftover.isEmpty, "split at \(split)")
        }
        let (atEnd, afterAll) = decode(message, bytes.map { [$0] })
        #expect(atEnd == false && afterAll == !leftover.isEmpty, "octet by octet")
    }

    /// A decoder that sees the end of a head, or of a body, elsewhere is not believed.
    @Test func whatTheDecoderSeesElsewhereSpendsTheConnection() {
        var head = ResponseEnds()
        head.requestBegan()
        _ = Array("HTTP/1.1 200 OK\n\nx".utf8).withUnsafeBytes { head.piece(of: $0) }
        head.headEnded(length: 1, isChunked: false)
        #expect(head.isSpent)

        var body = ResponseEnds()
        body.requestBegan()
        _ = Array("HTTP/1.1 200 OK\r\n\r\n".utf8).withUnsafeBytes { body.piece(of: $0) }
        body.headEnded(length: 9, isChunked: false)
        body.pieceDecoded()
        _ = Array("four".utf8).withUnsafeBytes { body.piece(of: $0) }
        body.responseEnded()
        #expect(body.isSpent)
    }

    /// A body is not looked at: it goes to the decoder as it came.
    @Test func aBodyIsOnePieceOfEachRead() {
        var ends = ResponseEnds()
        ends.requestBegan()
        _ = Array("HTTP/1.1 200 OK\r\n\r\n".utf8).withUnsafeBytes { ends.piece(of: $0) }
        ends.headEnded(length: 1_000, isChunked: false)
        ends.pieceDecoded()
        let read = Array(repeating: UInt8(ascii: "\n"), count: 400)
        for expected in [400, 400, 200] {
            #expect(read.withUnsafeBytes { ends.piece(of: $0) } == expected)
            ends.pieceDecoded()
        }
    }
}
#endif
