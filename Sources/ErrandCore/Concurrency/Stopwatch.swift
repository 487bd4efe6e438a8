/// Returns a function that measures the time since this call, on a clock of any kind.
public func makeStopwatch(on clock: any Clock<Duration>) -> @Sendable () -> Duration {
    func opened(_ clock: some Clock<Duration>) -> @Sendable () -> Duration {
        let start = clock.now
        return { start.duration(to: clock.now) }
    }
    return opened(clock)
}
