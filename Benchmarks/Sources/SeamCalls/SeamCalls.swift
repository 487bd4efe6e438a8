import Dispatch
import SeamCases

/// Makes a number of calls through the seam, and nothing else, for a program that counts instructions: `SeamCalls send 1000`.
@main
struct SeamCalls {
    /// Not async: callgrind 3.19 fails when an async main thread waits.
    static func main() {
        let arguments = CommandLine.arguments
        guard arguments.count == 3, let count = Int(arguments[2]), let call = calls[arguments[1]] else {
            fatalError("usage: SeamCalls \(calls.keys.sorted().joined(separator: "|")) COUNT")
        }
        let isOver = DispatchSemaphore(value: 0)
        Task { @concurrent in
            do {
                let seam = try Seam()
                for _ in 0..<count { try await call(seam) }
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
}
