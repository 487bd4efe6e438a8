public import ErrandCore

// This file declares endpoints that do not exist, but that newcomers wrote. For these endpoints, the compiler's own errors did not name
// the remedy. None of these functions can be called.

extension Endpoint where Output: Decodable {
    /// Not available. For a path in a variable, use `PathTemplate(verbatim: path)`.
    @available(
        *, unavailable,
        message: "for a path in a variable, write PathTemplate(verbatim: path); in a literal, write a value as \"/users/\\(id)\""
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
