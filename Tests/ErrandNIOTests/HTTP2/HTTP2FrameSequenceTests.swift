#if SWIFT_NIO && MockServer
import ErrandCore
import ErrandNIO
import ErrandMockServer
import ErrandTesting
import Foundation
import TestSupport
import Testing

/// A random run of frames, before requests, during them and after them, from a seed: the process lives, and each call ends within its time
/// with a response or a typed error.
private enum FrameSequences {
    /// The certificate of all servers, so that the keys are made only once.
    private static let certificate = Result { try TestAuthority().certificate() }

    static func run(_ total: Int, seed: UInt64) async throws {
        let (workers, size) = (16, 40)
        let next = Counter()
        let outcomes = Watched<[String: Int]>([:])
        try await withThrowingTaskGroup(of: Void.self) { group in
            for _ in 0..<workers {
                group.addTask {
                    while true {
                        let first = next.add(size) - size
                        guard first < total else { return }
                        let count = min(size, total - first)
                        try await Self.batch(count, seed: seed &+ UInt64(first) &* 0x9E37_79B9, outcomes)
                    }
                }
            }
            try await group.waitForAll()
        }
        let counts = outcomes.value
        #expect(counts.values.reduce(0, +) == total)
        let exchanges = counts.filter { Int($0.key) != nil }.values.reduce(0, +)
        #expect(exchanges > total / 5, "\(counts)")
        if total > 1_000 { print("frame sequences: \(counts)") }
        #expect(counts.keys.count > 3, "\(counts)")
    }

    /// Calls, one after the other, over one transport to one server.
    private static func batch(_ count: Int, seed: UInt64, _ outcomes: Watched<[String: Int]>) async throws {
        let connections = Counter()
        let server = try await ByteServer(certificate: try certificate.get()) {
            HostileScript(seed: seed &+ UInt64(connections.add() - 1) &* 7_919)
        }
        var configuration = NIOTransport.Configuration()
        configuration.tls.uncheckedHostsForTesting = .loopback
        let transport = try NIOTransport(configuration)
        var generator = SeededGenerator(seed: seed)
        for _ in 0..<count {
            let outcome = try await call(transport, "https://127.0.0.1:\(server.port)/", &generator)
            outcomes.change { $0[outcome, default: 0] += 1 }
        }
        // The server's first: a client waits for the end of a connection that is still being set up.
        await server.stop()
        try await transport.shutdown()
    }

    private static func call(
        _ transport: NIOTransport, _ url: String, _ generator: inout SeededGenerator
    ) async throws -> String {
        let bodies: [RequestBody] = [.empty, .empty, .data(Data("small".utf8)), .data(Data(count: 200_000))]
        let body = bodies.randomElement(using: &generator) ?? .empty
        var request = try Request(body.isEmpty ? .get : .post, url: url, body: body)
        if Bool.random(using: &generator) { request = request.telling(RecordingEventSink()) }
        let cancelAfter = Int.random(in: 0..<10, using: &generator) == 0 ? Int.random(in: 0..<20, using: &generator) : nil
        let readsBody = Int.random(in: 0..<5, using: &generator) > 0
        let sent = request.within(.seconds(1))
        let started = ContinuousClock.now
        let work = Task {
            let response = try await transport.send(sent)
            if readsBody { _ = try await response.body.collect() } else { response.body.abandon() }
            return "\(response.status.code)"
        }
        if let cancelAfter {
            try await Task.sleep(for: .milliseconds(cancelAfter))  // at any moment
            work.cancel()
        }
        let outcome: String
        do {
            outcome = try await work.value
        } catch let failure as TransportError {
            outcome = "\(failure.code)"
        } catch is CancellationError where cancelAfter != nil {
            outcome = "cancelled"
        } catch {
            Issue.record("no typed error: \(type(of: error))")
            outcome = "untyped"
        }
        #expect(ContinuousClock.now - started < .seconds(20), "\(outcome)")
        return outcome
    }
}

extension NIOTransportTests {
    @Suite(.timeLimit(.minutes(5))) struct HTTP2FrameSequenceTests {
        @Test func randomFramesDoNoHarm() async throws { try await FrameSequences.run(320, seed: 20_261_122) }
    }
}

/// The same at length: `ERRAND_FRAME_SEQUENCES` sets how many, `ERRAND_FRAME_SEED` the seed.
@Suite(
    .timeLimit(.minutes(20)),
    .enabled(
        if: ProcessInfo.processInfo.environment["ERRAND_FRAME_SEQUENCES"] != nil,
        "many sequences take minutes: set ERRAND_FRAME_SEQUENCES"))
struct ManyFrameSequencesTests {
    @Test func randomFramesDoNoHarm() async throws {
        func setting(_ name: String, _ fallback: Int) -> Int { ProcessInfo.processInfo.environment[name].flatMap { Int($0) } ?? fallback }
        try await FrameSequences.run(setting("ERRAND_FRAME_SEQUENCES", 10_000), seed: UInt64(setting("ERRAND_FRAME_SEED", 20_261_122)))
    }
}

/// Writes frames at random: mostly valid ones, at times that are mostly right.
private final class HostileScript: ByteScript {
    private var generator: SeededGenerator
    private var reader = H2Reader()

    init(seed: UInt64) { generator = SeededGenerator(seed: seed) }

    private func chance(_ percent: Int) -> Bool { Int.random(in: 0..<100, using: &generator) < percent }
    private func pick<Value>(_ values: [Value], or fallback: Value) -> Value { values.randomElement(using: &generator) ?? fallback }

    func opened() -> [ByteAction] {
        guard chance(97) else {
            return write(hostile(1, at: 1...4)) + [.pause(milliseconds: 30), .close]  // no settings: nothing would ever be sent
        }
        let first = chance(90) ? H2Frame.settings() : pick([.maxStreams(1), .maxStreams(0), .maxStreams(100)], or: .settings())
        let more = hostile(1, at: chance(75) ? 0...0 : 1...3)
        return write([first, .settingsAck] + more) + (chance(5) ? [.close] : [])
    }

    func received(_ bytes: [UInt8]) -> [ByteAction] {
        var actions: [ByteAction] = []
        for frame in reader.read(bytes) {
            if frame.type == 1 { actions += response(on: frame.stream) }
            if frame.type == 0, chance(3) { actions += write(hostile(frame.stream, at: 1...2)) }
        }
        return actions
    }

    private func response(on stream: UInt32) -> [ByteAction] {
        var actions: [ByteAction] = []
        if chance(20) { actions += write(hostile(stream, at: 1...2)) }
        if chance(10) { actions.append(.pause(milliseconds: Int.random(in: 1...20, using: &generator))) }
        let hasResponse = chance(90)
        if hasResponse { actions += write(response(stream)) }
        if chance(30) { actions += write(hostile(stream, at: 1...3)) }
        if hasResponse ? chance(5) : chance(90) { actions += (chance(50) ? [.pause(milliseconds: 5)] : []) + [.close] }
        return actions
    }

    private func write(_ frames: [H2Frame]) -> [ByteAction] { chance(70) ? frames.together : frames.apart }

    private func response(_ stream: UInt32) -> [H2Frame] {
        let early = chance(20) ? [H2Frame.headers(stream, H2Frame.status(pick(["100", "103", "199"], or: "100")))] : []
        let status: [UInt8] = pick([[0x88], [0x88], [0x88], [0x89], [0x8B], [0x8D], [0x8E], H2Frame.status("413")], or: [0x88])
        guard status != [0x89], status != [0x8B], chance(70) else { return early + [.headers(stream, status, ends: true)] }
        let count = Int.random(in: 1...4, using: &generator)
        let size = pick([0, 1, 100, 16_384], or: 1)
        let body = (0..<count).map { H2Frame.data(stream, Array(repeating: 0x61, count: size), ends: $0 == count - 1 && !isTrailed) }
        // A trailer: literal, not indexed, "x: y".
        return early + [.headers(stream, status)] + body + (isTrailed ? [.headers(stream, [0, 1, 0x78, 1, 0x79], ends: true)] : [])
    }

    private var isTrailed: Bool { stableTrailer }
    private lazy var stableTrailer = chance(20)

    private func hostile(_ stream: UInt32, at counts: ClosedRange<Int>) -> [H2Frame] {
        (0..<Int.random(in: counts, using: &generator)).map { _ in hostile(stream) }
    }

    private func hostile(_ current: UInt32) -> H2Frame {
        let stream = pick([current, current, current, 0, 1, 2, 3, current &+ 2, current &+ 1, 99, 0x7FFF_FFFF], or: current)
        let word = pick([0, 1, 2, 3, 5, 7, 8, 100, 65_535, 0x7FFF_FFFF, 0x8000_0000, .max] as [UInt32], or: 0)
        switch Int.random(in: 0..<26, using: &generator) {
        case 0: return .goAway(last: pick([0, current, 0x7FFF_FFFF], or: 0), code: pick([0, 0, 2, 11], or: 0))
        case 1: return H2Frame(type: 7, stream: pick([0, 1], or: 0), payload: Array(repeating: 0, count: pick([0, 4, 7, 8, 40], or: 8)))
        case 2: return .reset(current, code: pick([0, 5, 7, 8, 0xFFFF], or: 0))
        case 3: return .reset(stream, code: word)
        case 4: return H2Frame(type: 3, stream: stream, payload: [0, 0])
        case 5, 6: return .maxStreams(pick([0, 1, 2, 100, .max], or: 1))
        case 7: return .settings([(UInt16.random(in: 0...9, using: &generator), word)])
        case 8:
            let (streams, size): (UInt32, UInt32) = (pick([0, 1, 3], or: 1), pick([16_384, 1, 16_777_216], or: 16_384))
            let values: [(UInt16, UInt32)] = [(4, word), (3, streams), (5, size)]
            return .settings(values)
        case 9: return .settingsAck
        case 10: return H2Frame(type: 4, flags: pick([0, 1], or: 0), stream: pick([0, 1], or: 0), payload: [1, 2, 3])
        case 11: return .ping
        case 12: return H2Frame(type: 6, flags: 1, payload: Array(repeating: 9, count: pick([8, 8, 7], or: 8)))
        case 13, 14: return .windowUpdate(stream, by: word)
        case 15:
            return .headers(current, H2Frame.status(pick(["100", "101", "103", "099", "abc", "1000", "200"], or: "100")), ends: chance(30))
        case 16:
            return .headers(
                stream, pick([[], [0x88], [0x88, 0x88], [0xFF, 0xFF, 0xFF, 0xFF, 0xFF], [0x80], [0x82]], or: []), ends: chance(50))
        case 17: return H2Frame(type: 1, flags: pick([0, 1, 4, 0x0C, 0x24, 0x2D], or: 0), stream: stream, payload: [0x88, 1, 2, 3, 4, 5])
        case 18: return .data(stream, Array(repeating: 0x62, count: pick([0, 1, 1_000, 16_384], or: 1)), ends: chance(40))
        case 19: return H2Frame(type: 0, flags: 8, stream: stream, payload: pick([[], [0], [3, 1, 2, 3], [9, 1]], or: []))
        case 20: return .pushPromise(stream, promised: pick([2, 4, 3, 0], or: 2))
        case 21: return H2Frame(type: 2, stream: stream, payload: Array(repeating: 0, count: pick([5, 4], or: 5)))
        case 22: return H2Frame(type: 9, flags: pick([0, 4], or: 0), stream: stream, payload: [0x88])
        case 23: return H2Frame(type: pick([0xA, 0xC, 0x10, 0xF0], or: 0xA), flags: 0xFF, stream: stream, payload: [0, 1, 2, 3])
        case 24: return H2Frame(type: 0, stream: stream, payload: [1], declaredLength: pick([0, 2, 20_000, 0xFF_FFFF], or: 2))
        default: return .headers(current, [0x8E], ends: true)
        }
    }
}
#endif
