internal import ErrandCore
internal import ErrandTesting
internal import Synchronization
internal import Testing

/// A caller's own value in a request's options and in a response's metadata.
private enum MarkKey: MetadataKey, OptionKey { static var defaultValue: String? { nil } }

/// A caller's own task-local value.
private enum CallersTask { @TaskLocal static var mark: String? }

extension MiddlewareBehavior {
    /// Rules about passing on whole requests and responses.
    static let whole: [MiddlewareBehavior] = [
        MiddlewareBehavior(
            "SendsTheWholeRequest", "Method, target, fields, body, trailers, options and event sink of a request reach the inner sender."
        ) { subject in
            for method in [HTTPRequest.Method.get, .head, .post, .put, .delete] {
                let body = method == .post ? ["one", "two", "three"] : []
                let (request, recorder) = try marked(subject.request(), method, body: body)
                let stub = StubTransport(Stub().responds(.custom { (HTTPResponse(status: .ok), $0.body) }))
                let response = try await subject.wrap(stub).send(request)
                _ = try await response.body.collect()
                #expect(stub.requests.count == 1, "\(method)")
                let recorded = try #require(stub.requests.first)
                try compare(recorded.request, with: request, changes: subject.changes)
                if !subject.changes.contains(.addedFields) {
                    let added = try await names(recorded.request).subtracting(namesAtABareTransport(request))
                    #expect(
                        added.isEmpty,
                        "\(added.sorted()) added to the request: if the middleware adds fields on purpose, declare `.addedFields`")
                }
                if !subject.changes.contains(.requestBody), method == .post {
                    #expect(recorded.body == Data("onetwothree".utf8))
                    #expect(recorded.trailers?[TransportBehavior.field("X-Checksum")] == "abc", "trailers of the request")
                }
                let kinds = recorder.events.filter { $0.request == request.id }.map(\.kind)
                #expect(kinds.contains(.start) && kinds.contains(.end), "the event sink of the request")
            }
        },
        MiddlewareBehavior(
            "ReturnsTheWholeResponse", "Fields, body, expected length, trailers and metadata of a response are returned."
        ) { subject in
            let name = TransportBehavior.field("X-Own")
            var fields: HTTPFields = [.eTag: "\"own\"", .contentLength: "6"]
            for value in ["one", "two"] { fields.append(HTTPField(name: name, value: value)) }
            let stub = StubTransport(
                Stub().responds(
                    .stream([Data("one".utf8), Data("two".utf8)], headers: fields).trailers([TransportBehavior.field("X-Checksum"): "abc"])
                ))
            let below = HTTPStack(stub)
            let stack = subject.wrap(
                StubSender { request in
                    var response = try await below.send(request)
                    response.metadata.httpVersion = .http2
                    response.metadata.contentCoding = "gzip"
                    response.metadata[MarkKey.self] = "kept"
                    return response
                })
            let request = try subject.request()
            let response = try await stack.send(request)
            #expect(response.request.id == request.id)
            #expect(response.metadata[MarkKey.self] == "kept" && response.metadata.httpVersion == .http2, "metadata of the response")
            #expect(response.metadata.contentCoding == "gzip", "metadata of the response")
            if !subject.changes.contains(.responseFields) {
                for field in fields { #expect(response.headers[values: field.name] == fields[values: field.name], "\(field.name)") }
            }
            guard !subject.changes.contains(.responseBody) else { return response.body.abandon() }
            #expect(response.body.expectedLength == 6)
            #expect(try await response.body.collect() == Data("onetwo".utf8))
            #expect(response.body.trailers?[TransportBehavior.field("X-Checksum")] == "abc", "trailers of the response")
        },
        MiddlewareBehavior("KeepsUpgrades", "The stream of an upgraded connection is returned with its response.") { subject in
            var request = try subject.request()
            request.options.upgrade = UpgradeRequest(protocolName: "own")
            let stack = subject.wrap(
                StubSender { request in
                    guard request.options.upgrade?.protocolName == "own" else { throw Refused() }
                    var response = Response(head: HTTPResponse(status: .ok), request: request)
                    response.upgrade = NoStream()
                    return response
                })
            #expect(try await stack.send(request).upgrade is NoStream)
        },
        MiddlewareBehavior(
            "KeepsStatuses", "A status is returned unchanged or in a failure; an error status never becomes a success."
        ) { subject in
            guard !subject.changes.contains(.status) else { return }
            for status in [HTTPResponse.Status.created, .noContent, .found, .notModified, .notFound] {
                let stub = StubTransport(Stub().responds(.status(status, text: "as it is")))
                do {
                    let response = try await subject.wrap(stub).send(subject.request())
                    #expect(response.status == status)
                    response.body.abandon()
                } catch let failure as any RequestFailure {
                    #expect(failure.response?.status == status && status.kind != .successful)
                }
            }
        },
        MiddlewareBehavior("KeepsTaskLocals", "Task-local values of the caller, such as its span, reach the inner sender.") { subject in
            // The value is checked in this task. In a task without the caller's task-local values, an issue could not be recorded for this
            // test.
            let seen = Mutex<String?>(nil)
            let stack = subject.wrap(
                StubSender { request in
                    seen.withLock { $0 = CallersTask.mark }
                    return Response(head: HTTPResponse(status: .ok), request: request)
                })
            try await CallersTask.$mark.withValue("caller") { _ = try await stack.send(subject.request()) }
            #expect(seen.withLock { $0 } == "caller", "the inner sender runs in a task without the caller's task-local values")
        },
    ]

    /// Rules about failures and the end of an exchange: a failure is reported once, and an exchange ends when its body ends.
    static let failing: [MiddlewareBehavior] = [
        MiddlewareBehavior("BrokenBody", "If a body breaks off, the body is never reported as complete.") { subject in
            let pieces = ["one", "two"].map { Data($0.utf8) }
            let stub = StubTransport(Stub().responds(.stream(pieces, failure: Refused())))
            var end: ExchangeLifetime.Outcome?
            await #expect(throws: (any Error).self) { () async throws -> Void in
                let response = try await subject.wrap(stub).send(subject.request())
                do {
                    for try await _ in response.body {}
                } catch {
                    end = response.exchange.outcome
                    throw error
                }
            }
            #expect(stub.openBodyCount == 0)
            if case .complete? = end { Issue.record("the body broke off, but the outcome of the exchange is complete") }
        },
        MiddlewareBehavior("EndsWithTheBody", "The exchange of a response ends only when its body has ended.") { subject in
            let written = RecordingBodySource()
            defer { written.finish() }
            let stub = StubTransport(Stub().responds(.streaming { _, _ in (HTTPResponse(status: .ok), written) }))
            let response = try await subject.wrap(stub).send(subject.request())
            #expect(response.exchange.outcome == nil, "the body has not begun")
            var iterator = response.body.makeAsyncIterator()
            written.write("first")
            #expect(try await iterator.next() == Data("first".utf8))
            #expect(response.exchange.outcome == nil, "the body has not ended")
            written.finish()
            #expect(try await iterator.next() == nil)
            #expect(try await response.end().isComplete)
        },
        MiddlewareBehavior(
            "DoesNotRepeat",
            "A POST that may have reached the server is not sent again after a failure or an error status (RFC 9110, section 9.2.2)."
        ) { subject in
            guard !subject.changes.contains(.resends) else { return }
            let failures: [any Error] = [
                Refused(), TransportError(.connectionLost, phase: .response, request: nil, delivery: .unknown),
                TransportError(.timedOut, phase: .response, request: nil, delivery: .sent),
            ]
            for failure in failures {
                let stub = StubTransport(Stub().responds(.failure(failure)))
                let request = try marked(subject.request(), .post, body: ["tea"]).request
                await #expect(throws: (any Error).self) { () async throws -> Void in _ = try await subject.wrap(stub).send(request) }
                #expect(stub.requests.count == 1, "sent \(stub.requests.count) times after \(type(of: failure))")
            }
            for status in [HTTPResponse.Status.internalServerError, .badGateway, .serviceUnavailable, .gatewayTimeout] {
                let stub = StubTransport(Stub().responds(.status(status)))
                let request = try marked(subject.request(), .post, body: ["tea"]).request
                // Another behavior checks whether the status or a failure is returned.
                do { try await subject.wrap(stub).send(request).body.abandon() } catch is any RequestFailure {}
                #expect(stub.requests.count == 1, "sent \(stub.requests.count) times after a \(status.code)")
            }
        },
    ]

    /// Returns `request` with values in all its parts.
    private static func marked(
        _ request: Request, _ method: HTTPRequest.Method, body: [String]
    ) throws -> (request: Request, recorder: RecordingEventSink) {
        let recorder = RecordingEventSink()
        var request = request
        request.head.method = method
        request.options.priority = .high
        let path = request.head.path ?? "/"
        request.head.path = path + (path.contains("?") ? "&" : "?") + "own=1&twice=%20&twice=b"
        request.head.headerFields[.accept] = "application/x-own"
        request.head.headerFields[.authorization] = "Bearer own"
        for value in ["one", "two, three"] {
            request.head.headerFields.append(HTTPField(name: TransportBehavior.field("X-Own"), value: value))
        }
        if !body.isEmpty {
            request.body = .stream { _ in
                let source = RecordingBodySource(trailers: [TransportBehavior.field("X-Checksum"): "abc"])
                for piece in body { source.write(piece) }
                source.finish()
                return source
            }
        }
        request.options[MarkKey.self] = "kept"
        request.options.tags["own"] = "kept"
        request.options.fallbackHeaders = [TransportBehavior.field("X-Fallback"): "kept"]
        request.options.eventSink = recorder
        return (request, recorder)
    }

    private static func names(_ request: Request) -> Set<String> { Set(request.head.headerFields.map(\.name.canonicalName)) }

    /// Returns the names of the fields that a transport without middleware receives. The stack itself adds some fields.
    private static func namesAtABareTransport(_ request: Request) async throws -> Set<String> {
        let stub = StubTransport(Stub().responds(.status(.ok)))
        var request = request
        request.options.eventSink = nil
        try await HTTPStack(stub).send(request).body.abandon()
        return names(try #require(stub.requests.first).request)
    }

    private static func compare(_ seen: Request, with sent: Request, changes: MiddlewareUnderTest.Changes) throws {
        #expect(seen.id == sent.id)
        if !changes.contains(.target) {
            #expect(seen.method == sent.method)
            #expect(seen.head.scheme == sent.head.scheme && seen.head.authority == sent.head.authority)
            #expect(seen.head.path == sent.head.path)
        }
        if !changes.contains(.requestFields) {
            for field in sent.head.headerFields {
                #expect(seen.head.headerFields[values: field.name] == sent.head.headerFields[values: field.name], "\(field.name)")
            }
        }
        #expect(seen.head.headerFields[TransportBehavior.field("X-Fallback")] == "kept", "the fallback fields of the request")
        #expect(seen.options.priority == sent.options.priority, "the priority of the request")
        #expect(seen.options[MarkKey.self] == "kept" && seen.options.tags["own"] == "kept", "options of the request")
    }
}

/// A stream that is never read.
private struct NoStream: DuplexStream {
    var incoming: any BodySource { ClosureBodySource { nil } }
    func write(_ data: Data) async throws {}
    func finishWriting() async throws {}
    func close() {}
}
