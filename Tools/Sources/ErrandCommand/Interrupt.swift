import Foundation
import Synchronization

/// Ctrl-C and a polite kill end the work, not the process: it cleans up and says how it ended.
enum Interrupt {
    private struct State {
        var number: Int32?
        var action: (@Sendable () -> Void)?
    }

    private static let state = Mutex(State())

    /// Listens from now on. To be called first of all, while there is one thread: those that come later inherit that they leave the
    /// signals alone, so that only the thread which waits for them gets any.
    static func listen() {
        var signals = sigset_t()
        sigemptyset(&signals)
        sigaddset(&signals, SIGINT)
        sigaddset(&signals, SIGTERM)
        pthread_sigmask(SIG_BLOCK, &signals, nil)
        let awaited = signals
        Thread.detachNewThread {
            var awaited = awaited
            while true {
                var number: Int32 = 0
                guard sigwait(&awaited, &number) == 0 else { continue }
                let action = state.withLock { state in
                    let isFirst = state.number == nil
                    state.number = number
                    return isFirst ? state.action : nil
                }
                // Nobody cleans up, or the second time: at once.
                guard let action else { exit(128 + number) }
                action()
            }
        }
    }

    /// The exit status for the signal, as shells have it: 130 for Ctrl-C, 143 for a kill.
    static var exitStatus: Int32 { 128 + (state.withLock(\.number) ?? SIGINT) }

    /// Calls `action` when a signal comes.
    static func whenItComes(_ action: @escaping @Sendable () -> Void) { state.withLock { $0.action = action } }
}
