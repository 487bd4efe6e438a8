internal import ErrandCore
internal import Synchronization

/// The state of a transfer as its readers see it. Counts the bytes, and measures their rate.
final class TransferMeter: Sendable {
    /// A state with a number, so that two states can be compared.
    struct Snapshot: Sendable, Equatable {
        let state: TransferState
        let number: Int

        static func == (first: Snapshot, second: Snapshot) -> Bool { first.number == second.number }
    }

    private struct State {
        var phase = TransferState.Phase.idle
        var bytes: Int64 = 0
        var total: Int64?
        var rate = TransferRate()
        var number = 0
        var lastReport = Duration.zero
    }

    /// The shortest time between two states while bytes are transferred.
    private static let interval: Duration = .milliseconds(100)

    private let current = CurrentValue(Snapshot(state: TransferState(.idle, TransferProgress(bytes: 0, total: nil)), number: 0))
    private let state = Mutex(State())
    private let elapsed: @Sendable () -> Duration

    init(clock: any Clock<Duration>) { elapsed = makeStopwatch(on: clock) }

    var value: TransferState { current.value.state }

    var states: TransferStates { TransferStates(values: current.values()) }

    /// Enters a phase, and begins a new measurement of the rate.
    func enter(_ phase: TransferState.Phase) {
        report { state in
            state.phase = phase
            state.rate = TransferRate()
        }
    }

    /// Enters the phase `transferring`, with the number of bytes before the body, and the total number of bytes.
    func begin(at bytes: Int64, total: Int64?) {
        report { state in
            (state.phase, state.bytes, state.total) = (.transferring, bytes, total)
            state.rate = TransferRate()
            state.rate.record(0, at: elapsed())
        }
    }

    /// Sets the number of bytes and the total, without a change of the phase.
    func set(_ bytes: Int64, total: Int64?) { report { ($0.bytes, $0.total) = (bytes, total) } }

    /// Counts transferred bytes. Readers get a new state at most every 100 ms.
    func record(_ count: Int) {
        let now = elapsed()
        let isDue = state.withLock { state in
            state.bytes += Int64(count)
            state.rate.record(Int64(count), at: now)
            return now - state.lastReport >= Self.interval
        }
        if isDue { report { _ in } }
    }

    private func report(_ change: (inout State) -> Void) {
        let now = elapsed()
        // The lock is held while the readers get the state, so that states arrive in order.
        state.withLock { state in
            change(&state)
            state.number += 1
            state.lastReport = now
            let progress = TransferProgress(bytes: state.bytes, total: state.total)
            let rate = if case .transferring = state.phase { state.rate.bytesPerSecond(at: now) } else { Double?.none }
            current.set(Snapshot(state: TransferState(state.phase, progress, bytesPerSecond: rate), number: state.number))
        }
    }
}
