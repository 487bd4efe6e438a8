public import ErrandCore

// Calls without an endpoint of their own: `let user: User = try await client.get("/users/\(id)")`.

extension APIClient {
    @concurrent public func get<Value: Decodable & Sendable>(
        _ path: PathTemplate, query: URLQuery = URLQuery(), headers: HTTPFields = HTTPFields(), as type: Value.Type = Value.self
    ) async throws -> Value {
        try await value(Endpoint<Value>.get(path, query: query, headers: headers))
    }

    @concurrent public func post<Value: Decodable & Sendable>(
        _ path: PathTemplate, query: URLQuery = URLQuery(), headers: HTTPFields = HTTPFields(), body: EndpointBody = .none,
        as type: Value.Type = Value.self
    ) async throws -> Value {
        try await value(Endpoint<Value>.post(path, query: query, headers: headers, body: body))
    }

    @concurrent public func put<Value: Decodable & Sendable>(
        _ path: PathTemplate, query: URLQuery = URLQuery(), headers: HTTPFields = HTTPFields(), body: EndpointBody = .none,
        as type: Value.Type = Value.self
    ) async throws -> Value {
        try await value(Endpoint<Value>.put(path, query: query, headers: headers, body: body))
    }

    @concurrent public func patch<Value: Decodable & Sendable>(
        _ path: PathTemplate, query: URLQuery = URLQuery(), headers: HTTPFields = HTTPFields(), body: EndpointBody = .none,
        as type: Value.Type = Value.self
    ) async throws -> Value {
        try await value(Endpoint<Value>.patch(path, query: query, headers: headers, body: body))
    }

    @concurrent public func delete<Value: Decodable & Sendable>(
        _ path: PathTemplate, query: URLQuery = URLQuery(), headers: HTTPFields = HTTPFields(), as type: Value.Type = Value.self
    ) async throws -> Value {
        try await value(Endpoint<Value>.delete(path, query: query, headers: headers))
    }

    // MARK: Without a value

    @concurrent public func post(
        _ path: PathTemplate, query: URLQuery = URLQuery(), headers: HTTPFields = HTTPFields(), body: EndpointBody = .none
    ) async throws {
        try await value(Endpoint<Void>.post(path, query: query, headers: headers, body: body))
    }

    @concurrent public func put(
        _ path: PathTemplate, query: URLQuery = URLQuery(), headers: HTTPFields = HTTPFields(), body: EndpointBody = .none
    ) async throws {
        try await value(Endpoint<Void>.put(path, query: query, headers: headers, body: body))
    }

    @concurrent public func patch(
        _ path: PathTemplate, query: URLQuery = URLQuery(), headers: HTTPFields = HTTPFields(), body: EndpointBody = .none
    ) async throws {
        try await value(Endpoint<Void>.patch(path, query: query, headers: headers, body: body))
    }

    @concurrent public func delete(
        _ path: PathTemplate, query: URLQuery = URLQuery(), headers: HTTPFields = HTTPFields()
    ) async throws {
        try await value(Endpoint<Void>.delete(path, query: query, headers: headers))
    }
}
