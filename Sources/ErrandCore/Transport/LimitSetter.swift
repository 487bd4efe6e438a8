/// The setting or option that has set a limit. The raw value is its name in messages.
package enum LimitSetter: String, Sendable {
    case timeout = ".timeout"
    case timeoutOption = "request.options.timeout"
    case phaseTimeouts = ".phaseTimeouts"
    case phaseTimeoutsOption = "request.options.phaseTimeouts"
    case attemptTimeoutOption = "request.options.attemptTimeout"

    /// Returns the exceeded limits as text, and the setting or option that set these limits: `the limit firstByte is 200 ms,
    /// set by .phaseTimeouts`.
    func message(_ limits: [(name: String, limit: Duration)]) -> String {
        limits.map { "the limit \($0.name) is \($0.limit.inWords)" }.joined(separator: ", ") + ", set by \(rawValue)"
    }
}
