public import ErrandCore

/// Returns each chunk in capital letters.
public struct UppercaseTransform: BodyTransform {
    public init() {}

    public mutating func next(_ input: inout Data) -> Data? {
        defer { input = Data() }
        return input.isEmpty ? nil : Data(String(decoding: input, as: UTF8.self).uppercased().utf8)
    }
}
