import Errand
import ErrandConformance
import ErrandTesting
import TestSupport
import Testing

@Suite(.timeLimit(.minutes(5))) struct ProfileTests {
    @Test func aProfileIsATreeOfLayersAttemptsAndPhases() async throws {
        let stub = StubTransport(
            Stub(.get, "/x").responds(.status(.serviceUnavailable), .redirect(to: "/y?token=s3cret")),
            Stub(.get, "/y").responds(.status(.ok, text: "fine")))
        let clock = ManualClock()
        let stack = stub.redirect(clock: clock).retry(RetryPolicy(backoff: .immediate), clock: clock).timeout(.seconds(30), clock: clock)
            .profile()
        let response = try await stack.send(try request())
        #expect(try await response.body.collect() == Data("fine".utf8))
        let profile = try #require(response.metadata.profile)

        let timeout = try #require(profile.layers.first)
        #expect(profile.layers.count == 1 && timeout.name == "timeout(30 s)" && timeout.result == "200")
        let retry = try #require(timeout.children.first)
        #expect(retry.name.hasPrefix("retry") && retry.children.count == 2)
        #expect(retry.children.map(\.result) == ["503", "200"])
        #expect(retry.children.map { $0.children.map(\.name) } == [["StubTransport"], ["StubTransport", "StubTransport"]])
        for layer in [timeout, retry] + retry.children {
            let duration = try #require(layer.duration)
            let own = try #require(layer.own)
            #expect(own >= .zero && own <= duration)
        }

        let timings = try #require(response.metadata.timings)
        #expect(timings.redirectCount == 1)
        #expect(timings.exchanges.map(\.status) == [503, 302, 200])
        #expect(timings.exchanges.map(\.url).last == "https://a.example/y?token=REDACTED")
        #expect(timings.exchanges.allSatisfy { $0.isComplete == true && $0.end != nil })
        #expect(timings.exchanges.last?.receivedBytes == 4)
        #expect(timings.total != nil)
        let phases = try #require(timings.exchanges.last?.phases.map(\.name))
        #expect(phases == ["connect", "send", "wait", "receive"])
    }

    @Test func aProfileIsDescribedAsATree() async throws {
        let stub = StubTransport(Stub().responds(.status(.ok, text: "fine")))
        let response = try await stub.retry().profile().send(try request())
        let lines = try #require(response.metadata.profile?.description.split(separator: "\n").map(String.init))
        #expect(lines.count == 8)
        let shape = lines.map { line in line.prefix { $0 == " " }.count }
        #expect(shape == [0, 2, 4, 4, 4, 4, 4, 0], "\(lines.joined(separator: "\n"))")
        #expect(lines[0].hasPrefix("retry(") && lines[0].hasSuffix("200") && lines[0].contains("s  own "))
        #expect(lines[1].hasPrefix("  StubTransport") && lines[2] == "    GET https://a.example/x")
        #expect(lines[6].hasSuffix("4 bytes") && lines[7].hasPrefix("1 request, "))
    }

    @Test func columnsAreAlignedForLongLabels() async throws {
        let name = String(repeating: "long ", count: 20)
        let stub = StubTransport(Stub().responds(.status(.ok, text: "fine")))
        for stack in [
            stub.timeout(.seconds(30)), stub.circuitBreaker().retry(), stub.transformRequest(name) { _ in }.timeout(.seconds(30)),
        ] {
            let response = try await stack.profile().send(try request())
            _ = try await response.body.collect()
            let text = try #require(response.metadata.profile?.description)
            let columns = text.split(separator: "\n").dropLast().compactMap { line in
                line.firstRange(of: /[0-9] m?s(?:  |$)/).map { line[..<$0.upperBound].reversed().drop { $0 == " " }.count }
            }
            #expect(columns.count >= 6 && Set(columns).count == 1, "\(text)")
        }
        let long = try await stub.transformRequest(name) { _ in }.profile().send(try request())
        #expect(long.metadata.profile?.description.contains("…") == true)
    }

    @Test func aProfileOfTheRequestIsFilledIfTheCallFails() async throws {
        let lost = TransportError(.connectionLost, phase: .response, request: nil, delivery: .unknown)
        let stack = StubTransport(Stub().responds(.failure(lost))).validateStatus().profile()
        let profile = CallProfile()
        var sent = try request(.post)
        sent.options.profile = .use(profile)
        await #expect(throws: TransportError.self) { try await stack.send(sent) }
        #expect(profile.layers.first?.result == "connection lost")
        #expect(profile.timings.exchanges.map(\.isComplete) == [false])
        #expect(profile.timings.exchanges.first?.phases.map(\.name) == ["connect", "send", "wait"])
    }

    @Test(
        arguments: [
            ([], ["connect"]), ([.connectionAcquired], ["connect", "send"]),
            ([.connectionAcquired, .requestHeadSent, .requestSent], ["connect", "send", "wait"]),
            ([.connectionAcquired, .requestHeadSent, .responseHead], ["connect", "send", "wait", "receive"]),
        ] as [([ExchangeEvent.Kind], [String])])
    func aFailureEndsInThePhaseItReached(_ reached: [ExchangeEvent.Kind], _ phases: [String]) throws {
        let profile = CallProfile()
        let request = try request()
        let layer = profile.begin("transport", in: nil)
        for kind in [.start] + reached + [.end] {
            profile.record(ExchangeEvent(kind, request: request.id, exchange: 1), of: request, in: layer)
        }
        #expect(profile.timings.exchanges.first?.phases.map(\.name) == phases)
    }

    @Test func aCallWithoutTheLayerHasNoProfile() async throws {
        let stub = StubTransport(Stub().responds(.status(.ok)))
        #expect(try await stub.retry().send(try request()).metadata.profile == nil)
        var off = try request()
        off.options.profile = .off
        let response = try await stub.retry().profile().send(off)
        #expect(response.metadata.profile == nil && response.metadata.timings == nil)
    }

    @Test func concurrentHedgesAreCountedOnce() async throws {
        let simulation = Simulation()
        let stub = StubTransport(Stub().responds(.never, .status(.ok)), clock: simulation.clock)
        let stack = stub.hedge(HedgePolicy(.fixed(.milliseconds(5))), clock: simulation.clock).profile()
        let task = simulation.begin { try await stack.send(try request()).metadata.profile }
        simulation.run()
        let hedge = try #require(try await task.value?.layers.first)
        #expect(hedge.children.count == 2 && hedge.children.map(\.result) == ["cancelled", "200"])
        #expect(try #require(hedge.own) >= .zero)
    }
}
