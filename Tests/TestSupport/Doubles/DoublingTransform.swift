public import ErrandCore

/// Returns each chunk twice, like a decoder with more output than input.
public struct DoublingTransform: BodyTransform {
    public init() {}

    public mutating func next(_ input: inout Data) -> Data? {
        defer { input = Data() }
        return input.isEmpty ? nil : input + input
    }
}
