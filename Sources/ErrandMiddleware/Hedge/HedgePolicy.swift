/// When a request that is slow to be answered is sent once more, beside the first.
public struct HedgePolicy: Sendable, Hashable, CustomStringConvertible {
    /// How long an answer may take before the next attempt begins.
    public struct Delay: Sendable, Hashable, CustomStringConvertible {
        enum Kind: Sendable, Hashable {
            case fixed(Duration)
            case percentile(Double, window: Duration, minimum: Duration, samples: Int)
        }

        let kind: Kind

        /// Always so long; zero sends all attempts at once.
        public static func fixed(_ delay: Duration) -> Delay {
            precondition(delay >= .zero, "delay must be at least zero (is \(delay))")
            return Delay(kind: .fixed(delay))
        }

        /// As long as this share of the origin's answers took lately: what takes longer is one of the slow ones.
        ///
        /// - Parameters:
        ///   - share: more than 0 and less than 1. About the rest of it is sent twice: 0.97 costs 3 % more requests.
        ///   - window: how far back it looks: between half of this and all of it.
        ///   - minimum: the delay is never shorter.
        ///   - samples: with fewer answers in the window, nothing is hedged.
        public static func percentile(
            _ share: Double, window: Duration = .seconds(60), minimum: Duration = .milliseconds(1), samples: Int = 30
        ) -> Delay {
            precondition(share > 0 && share < 1, "share must be more than 0 and less than 1 (is \(share))")
            precondition(window > .zero, "window must be more than zero (is \(window))")
            precondition(minimum >= .zero, "minimum must be at least zero (is \(minimum))")
            precondition(samples >= 1, "samples must be at least 1 (is \(samples))")
            return Delay(kind: .percentile(share, window: window, minimum: minimum, samples: samples))
        }

        public var description: String {
            switch kind {
            case .fixed(let delay): "\(delay)"
            case .percentile(let share, _, _, _): "p\((share * 1_000).rounded() / 10)"
            }
        }
    }

    /// The 97th percentile of the last minute by default.
    public var delay: Delay
    /// With the first, from 2 to 5: 2 by default.
    public let maxAttempts: Int
    /// Statuses that are no answer while another attempt may bring one: 429, 500, 502, 503 and 504 by default.
    public var failing: Set<Int> = [429, 500, 502, 503, 504]

    /// - Precondition: 2 to 5 attempts.
    public init(_ delay: Delay = .percentile(0.97), maxAttempts: Int = 2) {
        precondition((2...5).contains(maxAttempts), "maxAttempts must be from 2 to 5 (is \(maxAttempts))")
        (self.delay, self.maxAttempts) = (delay, maxAttempts)
    }

    /// Once more after the 97th percentile of the last minute.
    public static let standard = HedgePolicy()

    public var description: String { "after \(delay), \(maxAttempts) attempts" }
}

/// What becomes of the attempts of one request, step by step. It decides; ``HedgeMiddleware`` does it.
package struct HedgeRace: Sendable {
    package enum Event: Sendable, Hashable {
        /// The delay is over.
        case timeUp
        /// An attempt was answered, or failed, as a final answer may not be.
        case failed(isPushback: Bool)
        /// An attempt was answered.
        case answered
    }

    package enum Step: Sendable, Hashable {
        case wait
        /// Begin another, if the budget has it; and where `thenTime`, start the delay anew.
        case begin(thenTime: Bool)
        /// The answer, or the failure, that came last is the result.
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
            // A failure alone is for retry to look at.
            return inFlight == 0 ? .end : .wait
        case .answered:
            return .end
        }
    }

    /// The budget had it.
    package mutating func begun() {
        started += 1
        inFlight += 1
    }
}
