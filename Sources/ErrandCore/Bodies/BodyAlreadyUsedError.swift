/// A body was to be read that can be read once only, and was read, given up, or moved into another body. Keep what you read, or look at
/// ``ResponseBody/bufferedData``.
public struct BodyAlreadyUsedError: LocalizedError, Sendable, Hashable, CustomStringConvertible {
    public init() {}
    public var description: String { "the body can be read once only, and was read or given up" }
    public var errorDescription: String? { description }
}
