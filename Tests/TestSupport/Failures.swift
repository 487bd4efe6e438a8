public import ErrandCore
public import Testing

/// The failure that `body` must end with.
public func failure<Failure: Error>(
    _ type: Failure.Type = Failure.self, sourceLocation: SourceLocation = #_sourceLocation, of body: () async throws -> some Any
) async throws -> Failure {
    let error = await #expect(throws: type, sourceLocation: sourceLocation) { _ = try await body() }
    return try #require(error, sourceLocation: sourceLocation)
}

/// The failure of the transport that `body` must end with.
public func transportError(
    sourceLocation: SourceLocation = #_sourceLocation, _ body: () async throws -> some Any
) async throws -> TransportError {
    try await failure(TransportError.self, sourceLocation: sourceLocation, of: body)
}
