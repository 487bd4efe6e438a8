import Errand

/// The wait of `--wait-for-network`.
struct NetworkWait: Sendable {
    let gate = NetworkGate(.system)
    /// Gets the events of the requests, and reports each wait.
    let notice: Notice

    /// Writes a line to standard error whenever a request begins to wait.
    struct Notice: EventSink {
        let seconds: Double
        let isShown: Bool

        func record(_ event: ExchangeEvent) {
            guard isShown, event.kind == .networkWaitStart else { return }
            Terminal.say("errand: this machine has no network; waiting for a network, for at most \(seconds.shortText) s")
        }
    }

    /// The wait that the arguments ask for; `nil` if requests do not wait.
    init?(_ arguments: RequestArguments) {
        guard let seconds = arguments.connection.waitForNetwork else { return nil }
        notice = Notice(seconds: seconds, isShown: arguments.shown.showsMessages)
    }

    /// Lets the requests of a stack wait.
    func layer(on stack: HTTPStack) -> HTTPStack { stack.waitForNetwork(upTo: .seconds(notice.seconds), at: gate) }
}
