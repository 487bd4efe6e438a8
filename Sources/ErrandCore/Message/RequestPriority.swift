/// Which of several requests goes first where they wait for the same thing.
public struct RequestPriority: Sendable, Hashable, Comparable, CustomStringConvertible {
    /// From 0, the most urgent, to 7 (RFC 9218, 4.1).
    public let urgency: Int

    /// - Precondition: 0 to 7.
    public init(urgency: Int) {
        precondition((0...7).contains(urgency), "urgency must be from 0 to 7 (is \(urgency))")
        self.urgency = urgency
    }

    /// Somebody looks at the screen, and waits.
    public static let high = RequestPriority(urgency: 1)
    /// The default.
    public static let normal = RequestPriority(urgency: 3)
    /// Wanted soon, but nobody waits.
    public static let low = RequestPriority(urgency: 5)
    /// Whenever there is room.
    public static let background = RequestPriority(urgency: 7)

    /// The less urgent one is the smaller.
    public static func < (first: RequestPriority, second: RequestPriority) -> Bool { first.urgency > second.urgency }

    public var description: String { "u=\(urgency)" }
}

extension HTTPField.Name {
    /// RFC 9218, 5.
    static let priority = known("Priority")
}

private enum PriorityKey: OptionKey {
    static var defaultValue: RequestPriority { .normal }
    /// Coalescing knows it by itself: a caller that is more urgent sends its own request.
    static func identity(of value: RequestPriority) -> OptionIdentity { .none }
    static var crossesOrigins: Bool { true }
}

extension RequestOptions {
    /// How urgent the request is. The lines of this library obey it (``RequestPriority``); a server is told of any other than
    /// ``RequestPriority/normal`` by the field `Priority` (RFC 9218, 5), unless the request has one of its own.
    public var priority: RequestPriority {
        get { self[PriorityKey.self] }
        set { self[PriorityKey.self] = newValue }
    }
}
