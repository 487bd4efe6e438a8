internal import ErrandCore
internal import Synchronization

/// A body in slices, which are delayed according to a rate.
final class PacedBodySource: BodySource {
    private let base: any BodySource
    private let bytesPerSecond: Int
    private let clock: any Clock<Duration>
    private let rest = Mutex(Data())

    init(_ base: any BodySource, bytesPerSecond: Int, clock: any Clock<Duration>) {
        (self.base, self.bytesPerSecond, self.clock) = (base, bytesPerSecond, clock)
    }

    /// The size of a slice: a twentieth of the bytes per second, at most 64 KiB.
    private var sliceBytes: Int { max(1, min(bytesPerSecond / 20, 64 * 1024)) }

    func next() async throws -> Data? {
        if rest.withLock(\.isEmpty) {
            guard let chunk = try await base.next() else { return nil }
            rest.withLock { $0 = chunk }
        }
        let slice = rest.withLock { rest in
            let slice = Data(rest.prefix(sliceBytes))
            rest = rest.dropFirst(slice.count)
            return slice
        }
        try await clock.sleep(for: (.seconds(1) * slice.count / bytesPerSecond).bounded)
        return slice
    }

    func abandon() {
        rest.withLock { $0 = Data() }
        base.abandon()
    }

    func fail(with error: any Error) {
        rest.withLock { $0 = Data() }
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
