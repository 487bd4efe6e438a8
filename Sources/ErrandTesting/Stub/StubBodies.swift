internal import ErrandCore
internal import Synchronization

/// A body in slices, which are delayed according to a rate.
final class PacedBodySource: BodySource {
    private struct State {
        var rest = Data()
        var given = 0
    }

    private let base: any BodySource
    private let bytesPerSecond: Int
    private let clock: any Clock<Duration>
    private let state = Mutex(State())

    init(_ base: any BodySource, bytesPerSecond: Int, clock: any Clock<Duration>) {
        (self.base, self.bytesPerSecond, self.clock) = (base, bytesPerSecond, clock)
    }

    /// The size of a slice: a twentieth of the bytes per second, at most 64 KiB.
    private var sliceBytes: Int { max(1, min(bytesPerSecond / 20, 64 * 1024)) }

    func next() async throws -> Data? {
        if state.withLock({ $0.rest.isEmpty }) {
            guard let chunk = try await base.next() else { return nil }
            state.withLock { $0.rest = chunk }
        }
        let slice = state.withLock { state in
            let slice = Data(state.rest.prefix(sliceBytes))
            state.rest = state.rest.dropFirst(slice.count)
            return slice
        }
        try await clock.sleep(for: (.seconds(1) * slice.count / bytesPerSecond).bounded)
        return slice
    }

    func abandon() {
        state.withLock { $0.rest = Data() }
        base.abandon()
    }

    func fail(with error: any Error) {
        state.withLock { $0.rest = Data() }
        base.fail(with: error)
    }

    var trailers: HTTPFields? { base.trailers }
}

/// The first bytes of a body, followed by a failure.
struct BreakingOff: BodyTransform {
    private var left: Int
    private let failure: any Error

    init(afterBytes count: Int, failure: any Error) { (left, self.failure) = (count, failure) }

    mutating func next(_ input: inout Data) throws -> Data? {
        guard left > 0 else { throw failure }
        let given = Data(input.prefix(left))
        (left, input) = (left - given.count, Data())
        return given.isEmpty ? nil : given
    }

    mutating func finish(_ input: inout Data) throws -> Data? { throw failure }
}

/// A body that reports cancellation to its reader, and can have trailers in place of the original trailers.
struct CancellableBodySource: BodySource {
    private let base: any BodySource
    private let ownTrailers: HTTPFields?

    /// - Parameter trailers: the trailers that replace the body's own trailers; `nil` keeps the body's own trailers.
    init(_ base: any BodySource, trailers: HTTPFields? = nil) { (self.base, ownTrailers) = (base, trailers) }

    var trailers: HTTPFields? { ownTrailers ?? base.trailers }

    func next() async throws -> Data? {
        try Task.checkCancellation()
        return try await base.next()
    }

    func abandon() { base.abandon() }
    func fail(with error: any Error) { base.fail(with: error) }
}
