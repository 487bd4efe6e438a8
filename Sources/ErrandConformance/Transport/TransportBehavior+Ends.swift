internal import ErrandCore
internal import ErrandTesting
internal import Testing

extension TransportBehavior {
    /// Rules about the end of an exchange, and about the number of bytes that are buffered before the end.
    static let toTheEnd: [TransportBehavior] = [
        TransportBehavior(
            "BrokenStream", "A body without a declared length that breaks off is never reported as complete (RFC 9112, section 8).",
            [
                Stub(.get, "/broken").responds(.stream([Data("one".utf8), Data("two".utf8)], failure: brokenOff)),
                Stub().responds(.status(.ok)),
            ]
        ) { subject in
            let response = try await subject.send(.get, "/broken")
            var read = Data()
            let failure = await #expect(throws: TransportError.self) { () async throws -> Void in
                for try await chunk in response.body { read.append(chunk) }
            }
            #expect(failure?.delivery == .sent)
            #expect(Data("onetwo".utf8).starts(with: read))
            let isComplete = try await response.end().isComplete
            #expect(!isComplete, "the exchange was reported as complete")
            #expect(try await subject.exchange().response.status == .ok)
        },
        TransportBehavior("EndComesWithTheBody", "The end of an exchange is reported with the end of the body, not with the head.") {
            let written = RecordingBodySource()
            written.write("first")
            return Check([Stub().responds(.streaming { _, _ in (HTTPResponse(status: .ok), written) })]) { subject in
                defer { written.finish() }
                let recorder = RecordingEventSink()
                var request = try subject.request()
                request.options.eventSink = recorder
                let response = try await subject.stack.send(request)
                #expect(response.exchange.outcome == nil, "the body has not ended")
                var iterator = response.body.makeAsyncIterator()
                #expect(try await iterator.next() == Data("first".utf8))
                #expect(response.exchange.outcome == nil, "the body has not ended")
                #expect(!recorder.kinds.contains(.end))
                written.finish()
                #expect(try await iterator.next() == nil)
                #expect(try await response.end().isComplete)
            }
        },
        TransportBehavior(
            "FailedExchangeEnds",
            "An exchange that fails or is cancelled has one end event. This event is the last event, and contains the failure."
        ) {
            let released = Signal()
            let hanging = StubResponse.streaming { _, _ in
                (
                    HTTPResponse(status: .ok),
                    ClosureBodySource {
                        try await released.wait()
                        return nil
                    }
                )
            }
            let stubs = [
                Stub(.get, "/lost").responds(.custom { _ in throw brokenOff }),
                Stub(.get, "/broken").responds(.stream([Data("one".utf8)], failure: brokenOff)),
                Stub(.get, "/hanging").responds(hanging),
            ]
            return Check(stubs) { subject in
                defer { released.signal() }
                for path in ["/lost", "/broken", "/hanging"] {
                    let recorder = RecordingEventSink()
                    var request = try subject.request(.get, path)
                    request.options.eventSink = recorder
                    let (sent, hasHead) = (request, Signal())
                    let call = Task {
                        let response = try await subject.stack.send(sent)
                        hasHead.signal()
                        for try await _ in response.body {}
                    }
                    if path == "/hanging" {
                        try await withPatience("the head") { try await hasHead.wait() }
                        call.cancel()
                    }
                    await #expect(throws: (any Error).self, "\(path)") {
                        try await value(of: call, within: Patience.forOne, "the failure of \(path)")
                    }
                    try await withPatience("the event of the end of \(path)") { try await recorder.wait(for: .end) }
                    #expect(recorder.events.last?.kind == .end && recorder.events.last?.failure != nil, "\(path)")
                    #expect(EventGrammar.violations(recorder.events, isCall: false) == [], "\(path)")
                }
            }
        },
        TransportBehavior(
            "ReadsAheadBounded",
            "A transport with `streamingDownload` stops receiving while the body is not read: at most 24 of 64 MiB, with system buffers."
        ) {
            let (produced, pieceBytes, pieces) = (Counter(), 64 * 1024, 1024)
            let piece = Data(count: pieceBytes)
            let large = StubResponse.streaming { _, _ in
                (
                    HTTPResponse(status: .ok),
                    ClosureBodySource {
                        guard produced.value < pieces else { return nil }
                        produced.add()
                        return piece
                    }
                )
            }
            return Check([Stub().responds(large)]) { subject in
                guard subject.transport.capabilities.contains(.streamingDownload) else { return }
                let response = try await subject.send()
                var iterator = response.body.makeAsyncIterator()
                #expect(try await iterator.next() != nil)
                // No event reports that the server has stopped sending. Therefore, the loop waits until the count of pieces stops growing.
                // If the loop ends too early on a busy machine, fewer bytes are checked.
                var last = -1
                while produced.value != last, produced.value < pieces {
                    last = produced.value
                    try await Task.sleep(for: .milliseconds(100))
                }
                let bytes = produced.value * pieceBytes
                #expect(bytes <= 24 * 1024 * 1024, "\(bytes.counted("byte")) were sent without a reader")
                // The transfer resumes when the body is read again.
                #expect(try await iterator.next() != nil)
                response.body.abandon()
            }
        },
    ]

    private static let brokenOff = TransportError(.connectionLost, phase: .body, message: "on purpose", request: nil, delivery: .sent)
}
