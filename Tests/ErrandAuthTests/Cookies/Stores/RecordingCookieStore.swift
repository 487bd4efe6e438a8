#if Auth
import Errand
import TestSupport

/// Keeps cookies, as several processes share them, records the calls, and fails as often as the test says.
actor RecordingCookieStore: CookieStore {
    private(set) var cookies: [Cookie]
    /// `load`, and the names of the cookies of each call of `apply`: `+a -b`.
    let calls = Watched<[String]>([])
    private var failingLoads: Int
    private var failingWrites = 0
    private let isReadable: Watched<Bool>
    private let isWritable: Watched<Bool>

    /// - Parameters:
    ///   - failingLoads: how many loads fail first, with `TestError("damaged")`.
    ///   - isReadable: a call of `load` waits until this value is true.
    ///   - isWritable: a call of `apply` waits until this value is true.
    init(
        _ cookies: [Cookie] = [], failingLoads: Int = 0, isReadable: Watched<Bool> = Watched(true),
        isWritable: Watched<Bool> = Watched(true)
    ) {
        (self.cookies, self.failingLoads, self.isReadable, self.isWritable) = (cookies, failingLoads, isReadable, isWritable)
    }

    nonisolated var log: [String] { calls.value }

    var names: [String] { cookies.map(\.name) }
    func failWrites(_ count: Int) { failingWrites = count }

    /// What another process does.
    func change(_ change: @Sendable (inout [Cookie]) -> Void) { change(&cookies) }

    func load() async throws -> [Cookie] {
        calls.change { $0.append("load") }
        try await isReadable.wait { $0 }
        if failingLoads > 0 {
            failingLoads -= 1
            throw TestError("damaged")
        }
        return cookies
    }

    func apply(changed: [Cookie], removed: [Cookie.Key]) async throws -> [Cookie] {
        let call = (changed.map { "+\($0.name)" }.sorted() + removed.map { "-\($0.name)" }.sorted()).joined(separator: " ")
        calls.change { $0.append(call) }
        try await isWritable.wait { $0 }
        if failingWrites > 0 {
            failingWrites -= 1
            throw TestError("full")
        }
        let keys = Set(changed.map(\.key) + removed)
        cookies = cookies.filter { !keys.contains($0.key) } + changed
        return cookies
    }
}
#endif
