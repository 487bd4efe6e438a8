internal import CMalloc
package import Testing

/// The memory that the process has allocated and not yet freed, as the allocator counts it. The resident size says less: freed
/// pages stay in it, and pages that nobody touched are not part of it.
package enum LiveBytes {
    /// The bytes that are in use now; `nil` on a system whose allocator has no such counter.
    package static var now: Int? {
        #if canImport(Darwin) || canImport(Glibc)
        return Int(live_bytes())
        #else
        return nil
        #endif
    }
}

/// Expects that a reader of `count` bytes keeps little memory. Each time, after `count`, twice `count` and four times `count` bytes, the
/// memory in use has grown by at most `limit`.
///
/// Other tests of the process allocate at the same time. So the smallest of three measurements counts, and `count` should exceed `limit`
/// by far.
///
/// - Parameters:
///   - limit: in bytes, whatever the count.
///   - settle: waits until everything that `read` returned earlier is released. Without this wait, memory that is released late would
///     count as used before the next measurement.
///   - read: reads so many bytes, and returns everything that must stay alive while the memory is measured: the reader, the
///     pieces that it returned.
package func expectKept<Kept>(
    atMost limit: Int,
    of count: Int,
    sourceLocation: SourceLocation = #_sourceLocation,
    isolation: isolated (any Actor)? = #isolation,
    settle: (() async throws -> Void)? = nil,
    _ read: (_ count: Int) async throws -> Kept
) async rethrows {
    for factor in [1, 2, 4] {
        var least = Int.max
        for _ in 1...3 where least > limit {
            try await settle?()
            guard let before = LiveBytes.now else { return }
            let kept = try await read(count * factor)
            let after = LiveBytes.now ?? before
            withExtendedLifetime(kept) { least = min(least, after - before) }
        }
        #expect(least <= limit, "\(least) bytes are kept of \(count * factor)", sourceLocation: sourceLocation)
    }
}
