public import ErrandCore

/// In tests, where a literal that is not an origin may trap.
extension Origin: ExpressibleByStringInterpolation {
    public init(stringLiteral text: String) { self = try! Origin(text) }
}
