public import ErrandCore

// This file has endpoints that newcomers wrote, and that the compiler refused without naming the remedy. None of these functions can be
// called.

extension Endpoint where Output: Decodable {
    /// Not available. For a path in a variable, use `PathTemplate(verbatim: path)`.
    @available(
        *, unavailable,
        message: "write PathTemplate(verbatim: path) for a path in a variable; a value stands in a literal: \"/users/\\(id)\""
    )
    @_disfavoredOverload
    public static func get(
        _ path: String, query: URLQuery = URLQuery(), headers: HTTPFields = HTTPFields(),
        as type: Output.Type = Output.self
    ) -> Self { Self(.get, PathTemplate(verbatim: path), decoding: .json) }

    /// Not available: a value as a body is `.json(value)`.
    @available(*, unavailable, message: "write body: .json(value), or .data(data), .text(text) or .file(url)")
    @_disfavoredOverload
    public static func post(
        _ path: PathTemplate, query: URLQuery = URLQuery(), headers: HTTPFields = HTTPFields(), body: some Encodable,
        as type: Output.Type = Output.self
    ) -> Self { Self(.post, path, decoding: .json) }
}
