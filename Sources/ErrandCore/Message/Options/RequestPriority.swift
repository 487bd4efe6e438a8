/// The urgency of a request: of several requests in a queue, the most urgent request is sent first.
public struct RequestPriority: Sendable, Hashable, Comparable, CustomStringConvertible {
    /// The urgency, from 0 (most urgent) to 7 (least urgent)
    /// ([RFC 9218, section 4.1](https://www.rfc-editor.org/rfc/rfc9218#section-4.1)).
    public let urgency: Int

    /// Creates a priority of this urgency.
    ///
    /// - Precondition: `urgency` is from 0 to 7.
    public init(urgency: Int) {
        precondition((0...7).contains(urgency), "urgency must be from 0 to 7 (is \(urgency))")
        self.urgency = urgency
    }

    /// A person waits for the response. Urgency 1.
    public static let high = RequestPriority(urgency: 1)
    /// The default. Urgency 3.
    public static let normal = RequestPriority(urgency: 3)
    /// The response is needed soon, but no person waits for the response. Urgency 5.
    public static let low = RequestPriority(urgency: 5)
    /// Nobody waits for the response, and more urgent queued requests are usually sent first. Urgency 7.
    public static let background = RequestPriority(urgency: 7)

    /// Returns whether the first priority is less urgent than the second priority.
    public static func < (first: RequestPriority, second: RequestPriority) -> Bool { first.urgency > second.urgency }

    /// The priority in the form of the field `Priority`: `u=1`.
    public var description: String { "u=\(urgency)" }
}

extension HTTPField.Name {
    /// The field `Priority` ([RFC 9218, section 5](https://www.rfc-editor.org/rfc/rfc9218#section-5)).
    static let priority = known("Priority")
}

private enum PriorityKey: CrossOriginOptionKey {
    static var defaultValue: RequestPriority { .normal }
    /// The priority is not part of the identity. Coalescing compares the priority itself, because a more urgent caller sends its own
    /// request.
    static func identity(of value: RequestPriority) -> OptionIdentity { .ignored }
}

extension RequestOptions {
    /// The urgency of the request; ``RequestPriority/normal`` by default.
    ///
    /// The queues of this library obey the priority. Any priority except ``RequestPriority/normal`` is sent to the server in the field
    /// `Priority` ([RFC 9218, section 5](https://www.rfc-editor.org/rfc/rfc9218#section-5)). If the request already has this field, the
    /// field stays unchanged.
    public var priority: RequestPriority {
        get { self[PriorityKey.self] }
        set { self[PriorityKey.self] = newValue }
    }
}
