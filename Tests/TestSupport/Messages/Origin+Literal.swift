public import ErrandCore

/// For tests only, where an invalid literal may trap.
extension Origin: ExpressibleByStringInterpolation {
    public init(stringLiteral text: String) { self = try! Origin(text) }
}
