internal import ErrandCore
internal import ErrandTesting
internal import Testing

extension TransportBehavior {
    /// Rules about bodies, in both directions.
    static let bodies: [TransportBehavior] = [
        TransportBehavior("EchoString", "A text body is sent and received.", [Stub(.post).responds(.echo)]) { subject in
            let (_, body) = try await subject.exchange(.post, body: .text("Grüße, 世界"))
            #expect(String(decoding: body, as: UTF8.self) == "Grüße, 世界")
        },
        TransportBehavior(
            "Echo1MBBody", "A body of 1 MiB is sent and received, streamed in both directions.", [Stub(.post).responds(.echo)]
        ) { subject in
            let bytes = patternBytes(1024 * 1024)
            for body in [RequestBody.data(bytes), stream(of: bytes, pieceBytes: 10_000)] {
                let (_, echoed) = try await subject.exchange(.post, body: body)
                let isEqual = echoed == bytes
                #expect(isEqual, "\(echoed.count.counted("byte")) came back of \(bytes.count)")
            }
        },
        TransportBehavior(
            "EmptyChunkedBody", "An empty streamed body is sent and received as a body.",
            [Stub(.post).responds(.echo), Stub().responds(.stream([]))]
        ) { subject in
            let (response, body) = try await subject.exchange()
            #expect(response.status == .ok && body.isEmpty)
            let (echo, echoed) = try await subject.exchange(.post, body: stream(of: Data(), pieceBytes: 1))
            #expect(echo.status == .ok && echoed.isEmpty)
            #expect(try await echo.end().isComplete)
        },
        TransportBehavior(
            "DripRead", "A body that arrives slowly arrives completely.",
            [Stub().responds(.data(Data("drop by drop".utf8)).over(NetworkConditions(downloadBytesPerSecond: 200)))]
        ) { subject in
            let (_, body) = try await subject.exchange()
            #expect(body == Data("drop by drop".utf8))
        },
        TransportBehavior(
            "UnderRead", "The rest of a partly read body is released, and the next request succeeds.",
            [Stub(.get, "/large").responds(.stream(Array(repeating: Data(count: 64 * 1024), count: 64))), Stub().responds(.status(.ok))]
        ) { subject in
            let first = try await subject.send(.get, "/large")
            for try await chunk in first.body {
                #expect(!chunk.isEmpty)
                break
            }
            _ = try await first.end()
            #expect(try await subject.exchange().response.status == .ok)
        },
        TransportBehavior(
            "DroppedUnread", "An unread body is released with the response.",
            [Stub(.get, "/large").responds(.stream(Array(repeating: Data(count: 64 * 1024), count: 64))), Stub().responds(.status(.ok))]
        ) { subject in
            let exchange = try await subject.send(.get, "/large").exchange
            let ended = Signal()
            exchange.onEnd { _ in ended.signal() }
            try await withPatience("the exchange to end") { try await ended.wait() }
            #expect(try await subject.exchange().response.status == .ok)
        },
        TransportBehavior(
            "SmallUnreadEnds", "A small body is received, and its exchange ends, before the body is read.",
            [Stub().responds(.status(.ok, text: "small"))]
        ) { subject in
            let response = try await subject.send()
            #expect(try await response.end().isComplete)
            #expect(try await response.body.collect() == Data("small".utf8))
        },
        TransportBehavior("StressTest", "Two hundred concurrent exchanges don't mix.", [Stub(.post, "/{number}").responds(.echo)]) {
            subject in
            let wrong = try await withThrowingTaskGroup(of: Bool.self) { group in
                for number in 0..<200 {
                    group.addTask {
                        let text = String(repeating: "\(number) ", count: 1_000)
                        let (_, body) = try await subject.exchange(.post, "/\(number)", body: .text(text))
                        return body == Data(text.utf8)
                    }
                }
                return try await group.reduce(0) { $0 + ($1 ? 0 : 1) }
            }
            #expect(wrong == 0, "\(wrong) of 200 concurrent requests got the body of another request")
        },
        TransportBehavior(
            "RequestBodyFailure", "A request body that fails makes the request fail, and is never sent as complete.",
            [Stub(.post).responds(.status(.ok)), Stub().responds(.status(.ok))]
        ) { subject in
            let body = RequestBody.stream { _ in ClosureBodySource { throw SourceBroke() } }
            let failure = try await subject.failure(.post, body: body)
            #expect(failure?.code == .requestBody && failure?.underlying is SourceBroke)
            for declared in [Int64(3), 30] {
                let wrong = RequestBody.stream(length: declared) { _ in try await stream(of: Data("ten octets".utf8), pieceBytes: 4).open()
                }
                let failure = try await subject.failure(.post, body: wrong)
                #expect(failure?.code == .requestBody, "\(failure.map { "\($0)" } ?? "none")")
            }
            #expect(try await subject.exchange().response.status == .ok)
        },
        TransportBehavior("TrailerRead", "Trailer fields arrive after the body (RFC 9110, section 6.5).", [Stub().responds(trailing)]) {
            subject in
            let response = try await subject.send()
            #expect(response.body.trailers == nil)
            #expect(try await response.body.collect() == Data("body".utf8))
            #expect(response.body.trailers?[field("X-Checksum")] == "abc")
        },
        TransportBehavior(
            "TrailerWrite", "Trailer fields are sent after the request's body.",
            [
                Stub(.post).responds(
                    .custom { request in (HTTPResponse(status: .ok), Data((request.trailers?[field("X-Checksum")] ?? "none").utf8)) })
            ]
        ) { subject in
            let body = RequestBody.stream { _ in
                let source = RecordingBodySource(trailers: [field("X-Checksum"): "abc"])
                source.write("body")
                source.finish()
                return source
            }
            let (_, received) = try await subject.exchange(.post, headers: [field("Trailer"): "X-Checksum"], body: body)
            #expect(String(decoding: received, as: UTF8.self) == "abc")
        },
    ]

    static let trailing = StubResponse.stream([Data("bo".utf8), Data("dy".utf8)], headers: [field("Trailer"): "X-Checksum"])
        .trailers([field("X-Checksum"): "abc"])

    /// Returns a stream over `bytes` that can be opened again.
    static func stream(of bytes: Data, pieceBytes: Int) -> RequestBody {
        .stream { _ in
            let source = WrittenPieces(bytes, pieceBytes: pieceBytes)
            return ClosureBodySource { source.next() }
        }
    }

    // MARK: Work of a middleware around the transport

    /// The text that is encoded in each content coding.
    static let decoded = String(repeating: "Small parts that can be read: ", count: 8)
    /// The text in the coding `gzip`, in Base64.
    static let gzipped = "H4sIAAAAAAACAwvOTczJUShILCopVijJSCxRSE7MU0hKVShKTUyxUggedrIA4vXh2fAAAAA="

    /// The text in each content coding.
    private static let coded: [(name: String, coding: String, bytes: String)] = [
        ("Gzip", "gzip", gzipped),
        ("Deflate", "deflate", "eJwLzk3MyVEoSCwqKVYoyUgsUUhOzFNISlUoSk1MsVIIHnayAF1hUxk="),
        ("Brotli", "br", "G+8A+I1Utb8GCYOTUzp0Lcgg4EymW5gjHoGYvfm7cQYA"),
    ]

    static let contentCodings: [TransportBehavior] =
        coded.map { name, coding, bytes in
            TransportBehavior(
                name, "A body in the coding '\(coding)' is requested and decoded (RFC 9110, section 8.4).",
                [
                    Stub().header(.acceptEncoding, matching: "(^|[ ,])\(coding)($|[ ,;])").responds(
                        .data(Data(base64Encoded: bytes) ?? Data(), headers: [.contentEncoding: coding]))
                ]
            ) { subject in
                let response = try await subject.stack(with: .decompress).send(subject.request())
                let body = try await response.body.collect()
                #expect(String(decoding: body, as: UTF8.self) == decoded)
                #expect(response.headers[.contentEncoding] == nil)
            }
        } + [
            TransportBehavior(
                "Identity", "A body without a content coding is returned unchanged.", [Stub().responds(.status(.ok, text: "plain"))]
            ) { subject in
                let response = try await subject.stack(with: .decompress).send(subject.request(headers: [.acceptEncoding: "identity"]))
                #expect(try await response.body.collect() == Data("plain".utf8))
            }
        ]
}

/// An error of the caller.
struct SourceBroke: Error, Equatable {}
