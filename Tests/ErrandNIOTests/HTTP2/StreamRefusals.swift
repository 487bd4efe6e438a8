#if SWIFT_NIO && MockServer
import Synchronization
import TestSupport

/// Refuses some streams of an HTTP/2 server, and collects the bodies of the other streams.
final class StreamRefusals: Sendable {
    enum Treatment {
        case accepted
        /// The head gets the status 417 immediately.
        case expectationRefused
        /// The stream is reset when its first DATA comes.
        case dataRefused
    }

    private struct State {
        var streams = 0
        var treatments: [UInt32: Treatment] = [:]
        var bodies: [UInt32: [UInt8]] = [:]
        var whole: [[UInt8]] = []
        var unexpected: [UInt32] = []
    }

    private let state = Mutex(State())
    private let treatment: @Sendable (_ number: Int) -> Treatment

    /// - Parameter treatment: how to treat the stream with this number, from 1.
    init(_ treatment: @escaping @Sendable (_ number: Int) -> Treatment) { self.treatment = treatment }

    /// The bodies that have arrived whole.
    var whole: [[UInt8]] { state.withLock(\.whole) }
    /// Streams that got DATA after the refusal of their expectation.
    var unexpected: [UInt32] { state.withLock(\.unexpected) }

    func respond(to frame: H2Frame) -> [ByteAction] {
        state.withLock { state in
            switch frame.type {
            case 1:
                state.streams += 1
                let treatment = treatment(state.streams)
                state.treatments[frame.stream] = treatment
                guard treatment == .expectationRefused else { return [] }
                return [H2Frame.headers(frame.stream, H2Frame.status("417"), ends: true)].together
            case 0:
                let window = [H2Frame.windowUpdate(0, by: UInt32(max(1, frame.payload.count)))].together
                let treatment = state.treatments[frame.stream]
                guard treatment == .accepted else {
                    if treatment != .dataRefused { state.unexpected.append(frame.stream) }
                    return frame.payload.isEmpty ? [] : [H2Frame.reset(frame.stream, code: 7)].together + window
                }
                let body = state.bodies[frame.stream, default: []] + frame.payload
                state.bodies[frame.stream] = body
                guard frame.flags & H2Frame.endStream != 0 else { return window }
                state.whole.append(body)
                return window + FrameServer.ok(frame.stream, "ok")
            default: return []
            }
        }
    }
}
#endif
