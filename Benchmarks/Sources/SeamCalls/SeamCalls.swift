import Dispatch
import SeamCases

/// Makes a number of calls through the seam, and nothing else, for a program that counts instructions: `SeamCalls send 1000`.
@main
struct SeamCalls {
    /// Not async: callgrind 3.19 fails when an async main thread waits.
    static func main() {
        let arguments = CommandLine.arguments
        let names = Array(calls.keys) + cookieCalls.keys + cacheCalls.keys
        guard arguments.count == 3, let count = Int(arguments[2]), names.contains(arguments[1]) else {
            fatalError("usage: SeamCalls \(names.sorted().joined(separator: "|")) COUNT")
        }
        let isOver = DispatchSemaphore(value: 0)
        Task { @concurrent in
            do {
                if let call = calls[arguments[1]] {
                    let seam = try Seam()
                    for _ in 0..<count { try await call(seam) }
                } else if let call = cookieCalls[arguments[1]] {
                    let cookies = try CookieCalls()
                    for _ in 0..<count { try await call(cookies) }
                } else if let call = cacheCalls[arguments[1]] {
                    let cache = try await CacheCalls()
                    for _ in 0..<count { try await call(cache) }
                }
            } catch {
                fatalError("\(error)")
            }
            isOver.signal()
        }
        isOver.wait()
    }

    private static let calls: [String: @Sendable (Seam) async throws -> Void] = [
        "send": { try await $0.send() }, "idle": { try await $0.sendPastIdle() }, "observe": { try await $0.observe() },
        "data": { try await $0.data() }, "value": { try await $0.value() },
    ]

    private static let cookieCalls: [String: @Sendable (CookieCalls) async throws -> Void] = [
        "cookies-none": { try await $0.sendWithoutCookie() }, "cookies-sites": { try await $0.sendOfManySites() },
        "cookies-site": { try await $0.sendOfOneSite() },
    ]

    private static let cacheCalls: [String: @Sendable (CacheCalls) async throws -> Void] = [
        "cache-plain": { try await $0.sendWithoutCache() }, "cache-hit": { try await $0.hit() },
        "cache-unstored": { try await $0.sendUnstored() }, "cache-store": { try await $0.store() },
    ]
}
