public import ErrandCore

// New users often write endpoints with functions that do not exist, and the compiler's own errors do not say how to fix the endpoint. Each
// function of this file is unavailable, and has a message that names the fix.

extension Endpoint where Output: Decodable {
    /// Not available. For a path in a variable, use `PathTemplate(verbatim: path)`.
    @available(
        *, unavailable,
        message: "for a path in a variable, write PathTemplate(verbatim: path); in a literal, insert a value as in \"/users/\\(id)\""
    )
    @_disfavoredOverload
    public static func get(
        _ path: String, query: URLQuery = URLQuery(), headers: HTTPFields = HTTPFields(),
        as type: Output.Type = Output.self
    ) -> Self { Self(.get, PathTemplate(verbatim: path), decoding: .json) }

    /// Not available: to send a value as a body, pass `.json(value)`.
    @available(*, unavailable, message: "write body: .json(value), or .data(data), .text(text) or .file(url)")
    @_disfavoredOverload
    public static func post(
        _ path: PathTemplate, query: URLQuery = URLQuery(), headers: HTTPFields = HTTPFields(), body: some Encodable,
        as type: Output.Type = Output.self
    ) -> Self { Self(.post, path, decoding: .json) }
}

extension EndpointBody {
    /// Not available: in a JSON literal with values of several types, each variable needs `JSONValue(_:)`.
    @available(
        *, unavailable,
        message: "write JSONValue(x) around each variable of a JSON literal with values of several types, or declare a struct"
    )
    @_disfavoredOverload
    public static func json(_ value: [String: any Encodable & Sendable]) -> EndpointBody { .none }
}
