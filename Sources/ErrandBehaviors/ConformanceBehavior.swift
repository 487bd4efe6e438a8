public import Testing

/// A rule that a suite checks, with its name and its text: the common part of the suites for transports, middleware and stores.
///
/// A test takes the behaviors as its arguments. Each behavior has a `check`, whose parameters depend on the suite.
public protocol ConformanceBehavior: Sendable, CustomStringConvertible, CustomTestStringConvertible {
    /// All behaviors of the suite.
    static var all: [Self] { get }
    /// The unique name of the behavior.
    var name: String { get }
    /// The rule, as a sentence.
    var summary: String { get }
}

extension ConformanceBehavior {
    /// The name and the rule.
    public var description: String { "\(name): \(summary)" }
    /// The name, for test reports.
    public var testDescription: String { name }

    /// Returns all behaviors except the named behaviors.
    ///
    /// - Parameter reasons: the names of the behaviors to leave out, each with a reason.
    /// - Precondition: each name is the name of a behavior, and no reason is empty.
    public static func all(excluding reasons: [String: String]) -> [Self] {
        let names = all.map(\.name)
        for (name, reason) in reasons {
            precondition(
                names.contains(name),
                "excluding must have only names of behaviors (has '\(name)'; the nearest is "
                    + "'\(EditDistance.nearest(to: name, among: names).candidates.first ?? "")')")
            precondition(!reason.isEmpty, "the reason for '\(name)' in excluding must not be empty")
        }
        return all.filter { reasons[$0.name] == nil }
    }
}
