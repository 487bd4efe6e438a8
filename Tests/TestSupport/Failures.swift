public import ErrandCore
public import Testing

/// Returns the error of the given type that `body` must throw.
public func failure<Failure: Error>(
    _ type: Failure.Type = Failure.self, sourceLocation: SourceLocation = #_sourceLocation, of body: () async throws -> some Any
) async throws -> Failure {
    let error = await #expect(throws: type, sourceLocation: sourceLocation) { _ = try await body() }
    return try #require(error, sourceLocation: sourceLocation)
}

/// Returns the transport error that `body` must throw.
public func transportError(
    sourceLocation: SourceLocation = #_sourceLocation, _ body: () async throws -> some Any
) async throws -> TransportError {
    try await failure(TransportError.self, sourceLocation: sourceLocation, of: body)
}
