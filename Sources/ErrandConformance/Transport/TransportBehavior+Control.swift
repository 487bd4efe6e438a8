internal import ErrandCore
internal import ErrandTesting
internal import Synchronization
internal import Testing

extension TransportBehavior {
    /// Rules about bodies that are sent and received at the same time.
    static let interleaved: [TransportBehavior] = [
        TransportBehavior(
            "EchoInterleave", "Each piece of the request's body comes back before the next piece is sent.", [Stub(.post).responds(.echo)]
        ) { subject in
            let written = RecordingBodySource()
            written.write("piece 0")
            let response = try await subject.send(.post, body: .stream { _ in written })
            var iterator = response.body.makeAsyncIterator()
            for number in 0..<20 {
                #expect(try await read("piece \(number)", from: &iterator))
                written.write("piece \(number + 1)")
            }
            written.finish()
            #expect(try await read("piece 20", from: &iterator))
            #expect(try await iterator.next() == nil)
            #expect(try await response.end().isComplete)
        },
        TransportBehavior(
            "SpeakInterleave", "The server first sends a greeting, and then responds to each piece of the request's body.",
            [
                Stub(.post).responds(
                    .streaming { _, incoming in
                        let hasGreeted = Mutex(false)
                        return (
                            HTTPResponse(status: .ok),
                            ClosureBodySource {
                                let isFirst = hasGreeted.withLock { hasGreeted in
                                    defer { hasGreeted = true }
                                    return !hasGreeted
                                }
                                if isFirst { return Data("hello".utf8) }
                                return try await incoming.next().map { Data("you said ".utf8) + $0 }
                            } onAbandon: {
                                incoming.abandon()
                            }
                        )
                    })
            ]
        ) { subject in
            let written = RecordingBodySource()
            let response = try await subject.send(.post, body: .stream { _ in written })
            var iterator = response.body.makeAsyncIterator()
            #expect(try await read("hello", from: &iterator))
            for text in ["one", "two"] {
                written.write(text)
                #expect(try await read("you said \(text)", from: &iterator))
            }
            written.finish()
            #expect(try await iterator.next() == nil)
        },
    ]

    /// Reads as many bytes as `expected` has, and returns whether the read bytes equal `expected`.
    private static func read(_ expected: String, from iterator: inout ResponseBody.Iterator) async throws -> Bool {
        var found = Data()
        while found.count < expected.utf8.count {
            guard let chunk = try await iterator.next() else { return false }
            found.append(chunk)
        }
        return found == Data(expected.utf8)
    }

    /// Rules about cancellation, deadlines, events and shutdown.
    static let given: [TransportBehavior] = [
        TransportBehavior("CancelPreHeaders", "If a call is cancelled while it waits for the head, the call ends immediately.") {
            let asked = [Signal(), Signal()]
            let slow = asked.indices.map { Stub(.get, "/slow/\($0)").responds(signalling(asked[$0])) }
            return Check(slow + [Stub().responds(.status(.ok))]) { subject in
                for (index, isAsked) in asked.enumerated() {
                    let request = TransportUnderTest.withAndWithoutDeadline(try subject.request(.get, "/slow/\(index)"))[index]
                    try await expectCancellation(when: isAsked) { _ = try await subject.stack.send(request) }
                    #expect(try await subject.exchange().response.status == .ok)
                }
            }
        },
        TransportBehavior(
            "CancelPreBody", "If a call is cancelled while it waits for the body, the call ends immediately.",
            [Stub(.get, "/slow").responds(hanging), other]
        ) { subject in
            for request in TransportUnderTest.withAndWithoutDeadline(try subject.request(.get, "/slow")) {
                let hasHead = Signal()
                try await expectCancellation(when: hasHead) {
                    let response = try await subject.stack.send(request)
                    hasHead.signal()
                    for try await _ in response.body {}
                }
                #expect(try await subject.exchange().response.status == .ok)
            }
        },
        TransportBehavior(
            "CancelInUpload", "If a call is cancelled while the request's body is sent, the call ends immediately and releases the body.",
            [Stub(.post).responds(.status(.ok)), Stub().responds(.status(.ok))]
        ) { subject in
            for hasDeadline in [true, false] {
                let (isRead, isReleased) = (Signal(), Signal())
                let body = RequestBody.stream { _ in
                    ClosureBodySource {
                        isRead.signal()
                        try await untilCancelled()
                    } onAbandon: {
                        isReleased.signal()
                    }
                }
                let requests = TransportUnderTest.withAndWithoutDeadline(try subject.request(.post, body: body))
                let request = requests[hasDeadline ? 0 : 1]
                try await expectCancellation(when: isRead) { _ = try await subject.stack.send(request) }
                try await withPatience("the body to be released") { try await isReleased.wait() }
                #expect(try await subject.exchange().response.status == .ok)
            }
        },
        TransportBehavior("CancelledBefore", "A task that was already cancelled sends nothing.") {
            let asked = Signal()
            return Check([Stub().responds(signalling(asked))]) { subject in
                let request = try subject.request()
                let task = Task {
                    withUnsafeCurrentTask { $0?.cancel() }
                    _ = try await subject.transport.send(request)
                }
                await #expect(throws: CancellationError.self) {
                    try await value(of: task, within: Patience.forOne, "the end of a call whose task was already cancelled")
                }
                #expect(!asked.hasCome)
            }
        },
        TransportBehavior("DeadlineBeforeHead", "A deadline ends the wait for the head.", [Stub(.get, "/slow").responds(.never), other]) {
            let request = try $0.request(.get, "/slow", within: .milliseconds(300))
            let failure = try await timedOut { [stack = $0.stack] in _ = try await stack.send(request) }
            #expect(failure?.code == .timedOut && failure?.delivery != .notSent)
            #expect(try await $0.exchange().response.status == .ok)
        },
        TransportBehavior("DeadlineInBody", "A deadline ends the wait for the body.", [Stub(.get, "/slow").responds(hanging), other]) {
            let request = try $0.request(.get, "/slow", within: .milliseconds(300))
            let failure = try await timedOut { [stack = $0.stack] in
                let response = try await stack.send(request)
                for try await _ in response.body {}
            }
            #expect(failure?.code == .timedOut && failure?.phase == .body && failure?.delivery == .sent)
            #expect(try await $0.exchange().response.status == .ok)
        },
        TransportBehavior(
            "EventsInOrder", "An event sink records each step once, in order, with the body's progress.", [Stub(.post).responds(.echo)]
        ) { subject in
            let recorder = RecordingEventSink()
            var request = try subject.request(.post, body: stream(of: patternBytes(100_000), pieceBytes: 10_000))
            request.options.eventSink = recorder
            let response = try await subject.stack.send(request)
            _ = try await response.body.collect()
            _ = try await response.end()
            let events = recorder.events
            #expect(events.first?.kind == .start && events.last?.kind == .end && events.last?.failure == nil)
            #expect(events.allSatisfy { $0.request == request.id })
            for kind in [ExchangeEvent.Kind.start, .requestHeadSent, .requestSent, .responseHead, .end] {
                #expect(events.count { $0.kind == kind } == 1, "\(kind)")
            }
            #expect(EventGrammar.violations(events, isCall: false) == [])
            let sent = events.filter { $0.kind == .requestBytesSent }.compactMap(\.bytes)
            #expect(sent.count > 1 && sent.last == 100_000)
            let received = events.last { $0.kind == .responseBytesReceived }?.bytes
            #expect(received == nil || received == 100_000)
        },
        TransportBehavior(
            "Informational", "Informational responses are reported as events before the final response (RFC 9110, section 15.2).",
            [
                Stub().responds(
                    .status(.ok, text: "final").informing(HTTPResponse(status: .init(code: 103), headerFields: [field("Link"): "</a.css>"]))
                )
            ]
        ) { subject in
            let recorder = RecordingEventSink()
            var request = try subject.request()
            request.options.eventSink = recorder
            let response = try await subject.stack.send(request)
            #expect(response.status == .ok)
            #expect(try await response.body.collect() == Data("final".utf8))
            let informational = recorder.events.filter { $0.kind == .informationalResponse }
            #expect(informational.map(\.response?.status.code) == [103])
            #expect(informational.first?.response?.headerFields[field("Link")] == "</a.css>")
        },
        TransportBehavior(
            "DeclaredCapabilities",
            "Informational responses, trailer fields and decoded content match the transport's capabilities.",
            [
                Stub(.get, "/informational").responds(.status(.ok).informing(HTTPResponse(status: .init(code: 103)))),
                Stub(.get, "/trailers").responds(trailing),
                Stub(.get, "/coded").responds(.data(Data(base64Encoded: gzipped) ?? Data(), headers: [.contentEncoding: "gzip"])),
            ]
        ) { subject in
            let capabilities = subject.transport.capabilities
            if capabilities.contains(.informationalResponses) {
                let recorder = RecordingEventSink()
                var request = try subject.request(.get, "/informational")
                request.options.eventSink = recorder
                try await subject.stack.send(request).body.abandon()
                #expect(recorder.events.contains { $0.response?.status.code == 103 }, "the capability informationalResponses")
            }
            if capabilities.contains(.trailers) {
                let response = try await subject.send(.get, "/trailers")
                _ = try await response.body.collect()
                #expect(response.body.trailers?[field("X-Checksum")] == "abc", "the capability trailers")
            }
            if capabilities.contains(.decodesContent) {
                let (response, body) = try await subject.exchange(.get, "/coded")
                #expect(body == Data(decoded.utf8) && response.headers[.contentEncoding] == nil, "the capability decodesContent")
            }
        },
        TransportBehavior(
            "DeclaredUpgrades", "A transport with `upgrades` changes the protocol of a connection (RFC 9110, section 7.8).",
            [
                Stub(.get, "/upgrade").responds(
                    .raw("HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: own\r\n\r\nhello")),
                other,
            ]
        ) { subject in
            guard subject.transport.capabilities.contains(.upgrades) else { return }
            var request = try subject.request(.get, "/upgrade")
            request.options.upgrade = UpgradeRequest(protocolName: "own")
            let response = try await subject.stack.send(request)
            let stream = try #require(response.upgrade, "the capability upgrades")
            defer { stream.close() }
            var received = Data()
            while received.count < 5, let piece = try await stream.incoming.next() { received += piece }
            #expect(response.status.code == 101 && received == Data("hello".utf8), "the capability upgrades")
        },
        TransportBehavior(
            "SendAfterShutdown", "After its shutdown, a transport rejects requests, and a second shutdown does nothing.", [other]
        ) {
            subject in
            #expect(try await subject.exchange().response.status == .ok)
            try await subject.transport.shutdown()
            try await subject.transport.shutdown()
            let failure = try await subject.failure()
            #expect(failure?.code == .shutDown && failure?.delivery == .notSent)
        },
        TransportBehavior(
            "ShutdownEndsExchanges", "A shutdown fails the exchanges in progress.", [Stub(.get, "/slow").responds(hanging)]
        ) { subject in
            let response = try await subject.send(.get, "/slow")
            try await subject.transport.shutdown()
            let failure = await #expect(throws: TransportError.self) { () async throws -> Void in for try await _ in response.body {} }
            #expect(failure?.code == .shutDown)
            _ = try await response.end()
        },
    ]

    /// A stub for a path with an ordinary response.
    private static let other = Stub(.get, "/").responds(.status(.ok))

    /// Returns a stub response that signals the call, and never ends.
    private static func signalling(_ signal: Signal) -> StubResponse {
        .custom { _ in
            signal.signal()
            try await untilCancelled()
        }
    }

    /// A stub response that sends a head, and then nothing.
    private static let hanging = StubResponse.streaming { _, incoming in
        (
            HTTPResponse(status: .ok),
            ClosureBodySource {
                try await untilCancelled()
            } onAbandon: {
                incoming.abandon()
            }
        )
    }

    private static func timedOut(_ operation: @escaping @Sendable () async throws -> Void) async throws -> TransportError? {
        // If an operation takes longer than the deadline and the patience, the operation is cancelled, and throws WaitTimeout.
        await #expect(throws: TransportError.self) {
            try await withPatience("a deadline of 300 ms", within: .milliseconds(300) + Patience.forOne) { try await operation() }
        }
    }
}

/// Bytes that are returned in pieces.
final class WrittenPieces: Sendable {
    private let rest: Mutex<Data>
    private let pieceBytes: Int

    init(_ bytes: Data, pieceBytes: Int) {
        rest = Mutex(bytes)
        self.pieceBytes = pieceBytes
    }

    func next() -> Data? {
        rest.withLock { rest in
            guard !rest.isEmpty else { return nil }
            let piece = Data(rest.prefix(pieceBytes))
            rest = rest.dropFirst(piece.count)
            return piece
        }
    }
}
