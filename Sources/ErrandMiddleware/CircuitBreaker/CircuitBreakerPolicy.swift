internal import ErrandCore

/// The rules by which a circuit opens, stays open and closes.
///
/// ```swift
/// let policy = CircuitBreakerPolicy(failureRatio: 0.3, minimumCalls: 50, breakTime: .seconds(10))
/// let stack = transport.circuitBreaker(CircuitBreaker(policy))
/// ```
public struct CircuitBreakerPolicy: Sendable, Hashable, CustomStringConvertible {
    /// The share of failed calls at which the circuit opens: from 0 to 1, 0.5 by default.
    public var failureRatio: Double
    /// The number of calls that the window must contain before ``failureRatio`` and ``slowCallRatio`` apply: at least 1, 20 by default.
    public var minimumCalls: Int
    /// The number of failures in succession, within the window, at which the circuit opens: at least 1, 20 by default. With
    /// `nil`, only ``failureRatio`` and ``slowCallRatio`` open the circuit.
    ///
    /// A server may fail after many good calls. With `nil`, the failing server gets many requests until the share of failed calls reaches
    /// ``failureRatio``.
    public var consecutiveFailures: Int?
    /// The period in which calls are counted: more than zero, 30 s by default.
    public var window: Duration
    /// How long the circuit stays open: more than zero, 5 s by default. If a failed call within the window has a longer `Retry-After`,
    /// the circuit stays open for that wait. While the circuit is half-open, one more probe is allowed if the last probe has had no
    /// outcome for this duration.
    public var breakTime: Duration
    /// The longest `Retry-After` that the breaker obeys: at least ``breakTime``, 60 s by default.
    public var maxBreakTime: Duration
    /// The number of calls that must succeed, in sequence or concurrently, before a half-open circuit closes: at least 1, 3 by default.
    public var probeCount: Int
    /// The shortest duration of a slow call. With `nil`, the default, no call is slow.
    public var slowCallThreshold: Duration?
    /// The shortest wait after which the call's own timeout is counted as a failure: at least zero, 1 s by default.
    ///
    /// A caller with little time left may set a timeout of 10 ms by `options.timeout` or `request.deadline`. The breaker measures the time
    /// from the arrival of the request to the timeout. If the measured time is shorter than `callTimeoutThreshold`, the breaker ignores the
    /// call. With `.zero`, each timeout in the exchange is counted as a failure. A timeout of a layer, such as `timeout(_:)` or
    /// `phaseTimeouts`, is always counted as a failure.
    public var callTimeoutThreshold: Duration
    /// The share of slow calls at which the circuit opens: from 0 to 1, 0.5 by default.
    public var slowCallRatio: Double

    /// Creates a policy. For each parameter, see the property of the same name.
    ///
    /// - Precondition: `failureRatio` and `slowCallRatio` are from 0 to 1. `minimumCalls`, `consecutiveFailures` and `probeCount` are at
    ///   least 1. `window` and `breakTime` are more than zero. `maxBreakTime` is at least `breakTime`.
    ///   `callTimeoutThreshold` is at least zero.
    public init(
        failureRatio: Double = 0.5, minimumCalls: Int = 20, consecutiveFailures: Int? = 20, window: Duration = .seconds(30),
        breakTime: Duration = .seconds(5), maxBreakTime: Duration = .seconds(60), probeCount: Int = 3, slowCallThreshold: Duration? = nil,
        slowCallRatio: Double = 0.5, callTimeoutThreshold: Duration = .seconds(1)
    ) {
        precondition((0...1).contains(failureRatio), "failureRatio must be from 0 to 1 (is \(failureRatio))")
        precondition(minimumCalls >= 1, "minimumCalls must be at least 1 (is \(minimumCalls))")
        if let consecutiveFailures {
            precondition(consecutiveFailures >= 1, "consecutiveFailures must be at least 1 (is \(consecutiveFailures))")
        }
        precondition(window > .zero, "window must be more than zero (is \(window.inWords))")
        precondition(breakTime > .zero, "breakTime must be more than zero (is \(breakTime.inWords))")
        precondition(
            maxBreakTime >= breakTime, "maxBreakTime must be at least breakTime, which is \(breakTime.inWords) (is \(maxBreakTime.inWords))"
        )
        precondition(probeCount >= 1, "probeCount must be at least 1 (is \(probeCount))")
        precondition((0...1).contains(slowCallRatio), "slowCallRatio must be from 0 to 1 (is \(slowCallRatio))")
        precondition(callTimeoutThreshold >= .zero, "callTimeoutThreshold must be at least zero (is \(callTimeoutThreshold.inWords))")
        self.failureRatio = failureRatio
        self.minimumCalls = minimumCalls
        self.consecutiveFailures = consecutiveFailures
        self.window = window
        self.breakTime = breakTime
        self.maxBreakTime = maxBreakTime
        self.probeCount = probeCount
        self.slowCallThreshold = slowCallThreshold
        self.slowCallRatio = slowCallRatio
        self.callTimeoutThreshold = callTimeoutThreshold
    }

    /// The circuit opens for 5 s if half of at least 20 calls within 30 s fail, or if 20 calls in succession fail. The circuit closes after
    /// three successful probes.
    public static let standard = CircuitBreakerPolicy()

    /// The time for which the circuit stays open, and the conditions under which it opens: `opens for 5 s if 50 % of at least 20
    /// calls in 30 s fail, or 20 in succession`.
    public var description: String {
        let slow = slowCallThreshold.map { " or \(slowCallRatio.inPercent) take longer than \($0.inWords)" } ?? ""
        let calls = "\(failureRatio.inPercent) of at least \(minimumCalls.counted("call")) in \(window.inWords) fail"
        let run = consecutiveFailures.map { ", or \($0) in succession" } ?? ""
        return "opens for \(breakTime.inWords) if \(calls)\(run)\(slow.isEmpty ? "" : ",")\(slow)"
    }
}
