import ErrandNIO
import Foundation
import Synchronization

/// Handles Ctrl-C (SIGINT), SIGTERM and a closed terminal (SIGHUP). These signals end the work. The process then cleans up, and exits
/// with a status for the signal.
///
/// SIGQUIT (`Ctrl-\`) ends the process immediately. Partial files stay, for debugging.
enum Interrupt {
    private struct State {
        var number: Int32?
        var action: (@Sendable () -> Void)?
    }

    private static let state = Mutex(State())

    /// Installs the handlers of the signals.
    ///
    /// A handler writes the number of the signal to a pipe, and a thread reads the pipe. Blocked signals with `sigwait` would not work,
    /// because the main thread waits with all signals unblocked.
    static func listen() {
        var ends: [Int32] = [-1, -1]
        guard pipe(&ends) == 0 else { return }
        for end in ends { _ = fcntl(end, F_SETFD, FD_CLOEXEC) }
        let readEnd = ends[0]
        interruptPipe = ends[1]
        signal(SIGINT, passOn)
        signal(SIGTERM, passOn)
        // If `nohup` has switched SIGHUP off, the signal stays ignored.
        let before = signal(SIGHUP, SIG_IGN)
        if unsafeBitCast(before, to: Int.self) != unsafeBitCast(SIG_IGN, to: Int.self) { signal(SIGHUP, passOn) }
        Thread.detachNewThread {
            var byte: UInt8 = 0
            while true {
                let count = read(readEnd, &byte, 1)
                if count == 1 { receive(Int32(byte)) } else if count == 0 || errno != EINTR { return }
            }
        }
    }

    private static func receive(_ number: Int32) {
        let action = state.withLock { state in
            let isFirst = state.number == nil
            state.number = number
            return isFirst ? state.action : nil
        }
        // Without a handler, or at the second signal, the process ends at once.
        guard let action else { exit(128 + number) }
        action()
    }

    /// Whether a signal has come.
    static var hasCome: Bool { state.withLock { $0.number != nil } }

    /// The exit status for the signal, as shells use it: 130 for Ctrl-C, 143 for SIGTERM, 129 for a closed terminal.
    static var exitStatus: Int32 { 128 + (state.withLock(\.number) ?? SIGINT) }

    /// Calls `action` when a signal arrives.
    static func whenItComes(_ action: @escaping @Sendable () -> Void) { state.withLock { $0.action = action } }
}

/// Calls `body`, and shuts the transport down after it. After Ctrl-C, the process ends without a shutdown: the system closes the
/// connections.
func withInterruptibleTransport<Result>(
    _ transport: NIOTransport, _ body: (NIOTransport) async throws -> Result
) async throws -> Result {
    let result: Result
    do {
        result = try await body(transport)
    } catch {
        if !Interrupt.hasCome { try? await transport.shutdown() }
        throw error
    }
    if !Interrupt.hasCome { try await transport.shutdown() }
    return result
}

/// Written once, before the handlers are installed.
nonisolated(unsafe) private var interruptPipe: Int32 = -1

/// The handler of the signals, which may call little more than `write`.
private func passOn(_ number: Int32) {
    let error = errno
    var byte = UInt8(truncatingIfNeeded: number)
    _ = write(interruptPipe, &byte, 1)
    errno = error
}
