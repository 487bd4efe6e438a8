public import ErrandCore

/// The rules for hedging, which sends a request again if its response is slow. The attempts of a request run concurrently.
///
/// ```swift
/// stack.hedge(HedgePolicy(.fixed(.milliseconds(200)), maxAttempts: 3))
/// ```
public struct HedgePolicy: Sendable, Hashable, CustomStringConvertible {
    /// The time after which the next attempt begins if there is no response.
    public struct Delay: Sendable, Hashable, CustomStringConvertible {
        enum Kind: Sendable, Hashable {
            case fixed(Duration)
            case percentile(Double, window: Duration, minimum: Duration, samples: Int)
        }

        let kind: Kind

        /// A fixed delay. With `.zero`, all attempts begin immediately.
        ///
        /// - Precondition: `delay` is at least zero.
        public static func fixed(_ delay: Duration) -> Delay {
            precondition(delay >= .zero, "delay must be at least zero (is \(delay.inWords))")
            return Delay(kind: .fixed(delay))
        }

        /// The time within which the given share of the origin's recent responses has arrived. A response that takes longer is slow.
        ///
        /// - Parameters:
        ///   - share: the share of responses that are not slow; more than 0 and less than 1. A request with a slow response is sent again.
        ///     With 0.97, about 3 % of the requests are sent again.
        ///   - window: the largest age of a response that is counted. Default: 60 s. The actual age limit varies between half of the window
        ///     and the whole window.
        ///   - minimum: the shortest delay, at least zero. Default: 1 ms.
        ///   - samples: the number of responses that the window must contain before requests are hedged; at least 1.
        ///     Default: 30.
        public static func percentile(
            _ share: Double, window: Duration = .seconds(60), minimum: Duration = .milliseconds(1), samples: Int = 30
        ) -> Delay {
            precondition(share > 0 && share < 1, "share must be more than 0 and less than 1 (is \(share))")
            precondition(window > .zero, "window must be more than zero (is \(window.inWords))")
            precondition(minimum >= .zero, "minimum must be at least zero (is \(minimum.inWords))")
            precondition(samples >= 1, "samples must be at least 1 (is \(samples))")
            return Delay(kind: .percentile(share, window: window, minimum: minimum, samples: samples))
        }

        public var description: String {
            switch kind {
            case .fixed(let delay): delay.inWords
            case .percentile(let share, _, _, _): "p\((share * 100).inWords)"
            }
        }
    }

    /// The time after which the next attempt begins if there is no response. The default is the 97th percentile of the response times of
    /// the last minute.
    public var delay: Delay
    /// The largest number of attempts, including the first attempt: from 2 to 5, 2 by default.
    public let maxAttempts: Int
    /// The statuses that make an attempt a failed attempt: 429, 500, 502, 503 and 504 by default. While another attempt is in progress, a
    /// failed attempt does not end the hedging.
    public var statuses = StatusRule.evidenceAgainstServer

    /// Creates a policy.
    ///
    /// - Precondition: `maxAttempts` is from 2 to 5.
    public init(_ delay: Delay = .percentile(0.97), maxAttempts: Int = 2) {
        precondition((2...5).contains(maxAttempts), "maxAttempts must be from 2 to 5 (is \(maxAttempts))")
        (self.delay, self.maxAttempts) = (delay, maxAttempts)
    }

    /// One more attempt after a delay, which is the 97th percentile of the response times of the last minute.
    public static let standard = HedgePolicy()

    public var description: String { "after \(delay), \(maxAttempts.counted("attempt"))" }
}

/// The pure state machine of one request's attempts. ``HedgeMiddleware`` performs the decisions.
package struct HedgeRace: Sendable {
    package enum Event: Sendable, Hashable {
        /// The delay is over.
        case timeUp
        /// An attempt failed, or its response has one of the policy's statuses.
        case failed(isPushback: Bool)
        /// An attempt has returned a final response.
        case responded
    }

    package enum Step: Sendable, Hashable {
        case wait
        /// Begin another attempt, if the budget allows the attempt. If `thenTime` is true, start the delay again.
        case begin(thenTime: Bool)
        /// The last response or failure is the result.
        case end
    }

    private let maxAttempts: Int
    package private(set) var started = 1
    private var inFlight = 1
    private var isPushedBack = false

    package init(maxAttempts: Int) { self.maxAttempts = maxAttempts }

    package mutating func next(_ event: Event) -> Step {
        switch event {
        case .timeUp:
            guard !isPushedBack, started < maxAttempts else { return .wait }
            return .begin(thenTime: started + 1 < maxAttempts)
        case .failed(let isPushback):
            inFlight -= 1
            if isPushback { isPushedBack = true }
            // If no other attempt is in progress, `retry` handles the failure.
            return inFlight == 0 ? .end : .wait
        case .responded:
            return .end
        }
    }

    /// Records that another attempt began, because the budget allowed the attempt.
    package mutating func begun() {
        started += 1
        inFlight += 1
    }
}
