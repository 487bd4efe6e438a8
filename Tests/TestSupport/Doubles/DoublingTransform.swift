public import ErrandCore

/// Gives each chunk twice, as a decoder makes more of what it takes.
public struct DoublingTransform: BodyTransform {
    public init() {}

    public mutating func next(_ input: inout Data) -> Data? {
        defer { input = Data() }
        return input.isEmpty ? nil : input + input
    }
}
