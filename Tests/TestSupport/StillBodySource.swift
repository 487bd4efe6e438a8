public import ErrandCore

/// A body whose first byte never arrives.
public struct StillBodySource: BodySource {
    public init() {}

    public func next() async throws -> Data? {
        let never = AsyncStream<Never> { _ in }
        for await _ in never {}
        throw CancellationError()
    }

    public func abandon() {}
}
