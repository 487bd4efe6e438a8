public import ErrandCore

// Spellings that a newcomer tries first: the compiler says what to write. None of them can be called.

// MARK: - A path in a variable

// Not for each output: one that is not `Decodable` has a message of its own.

extension Endpoint where Output: Decodable {
    /// Not available: a path in a variable is `PathTemplate(verbatim: path)`.
    @available(
        *, unavailable,
        message: "write PathTemplate(verbatim: path) for a path in a variable; a value stands in a literal: \"/users/\\(id)\""
    )
    @_disfavoredOverload
    public static func get(
        _ path: String, query: URLQuery = URLQuery(), headers: HTTPFields = HTTPFields(),
        as type: Output.Type = Output.self
    ) -> Self { Self(.get, PathTemplate(verbatim: path), decoding: .json) }

    /// Not available: a path in a variable is `PathTemplate(verbatim: path)`.
    @available(
        *, unavailable,
        message: "write PathTemplate(verbatim: path) for a path in a variable; a value stands in a literal: \"/users/\\(id)\""
    )
    @_disfavoredOverload
    public static func post(
        _ path: String, query: URLQuery = URLQuery(), headers: HTTPFields = HTTPFields(), body: EndpointBody = .none,
        as type: Output.Type = Output.self
    ) -> Self { Self(.post, PathTemplate(verbatim: path), decoding: .json) }

    /// Not available: a path in a variable is `PathTemplate(verbatim: path)`.
    @available(
        *, unavailable,
        message: "write PathTemplate(verbatim: path) for a path in a variable; a value stands in a literal: \"/users/\\(id)\""
    )
    @_disfavoredOverload
    public static func put(
        _ path: String, query: URLQuery = URLQuery(), headers: HTTPFields = HTTPFields(), body: EndpointBody = .none,
        as type: Output.Type = Output.self
    ) -> Self { Self(.put, PathTemplate(verbatim: path), decoding: .json) }

    /// Not available: a path in a variable is `PathTemplate(verbatim: path)`.
    @available(
        *, unavailable,
        message: "write PathTemplate(verbatim: path) for a path in a variable; a value stands in a literal: \"/users/\\(id)\""
    )
    @_disfavoredOverload
    public static func patch(
        _ path: String, query: URLQuery = URLQuery(), headers: HTTPFields = HTTPFields(), body: EndpointBody = .none,
        as type: Output.Type = Output.self
    ) -> Self { Self(.patch, PathTemplate(verbatim: path), decoding: .json) }

    /// Not available: a path in a variable is `PathTemplate(verbatim: path)`.
    @available(
        *, unavailable,
        message: "write PathTemplate(verbatim: path) for a path in a variable; a value stands in a literal: \"/users/\\(id)\""
    )
    @_disfavoredOverload
    public static func delete(
        _ path: String, query: URLQuery = URLQuery(), headers: HTTPFields = HTTPFields(), body: EndpointBody = .none,
        as type: Output.Type = Output.self
    ) -> Self { Self(.delete, PathTemplate(verbatim: path), decoding: .json) }
}

extension Endpoint where Output == Void {
    /// Not available: a path in a variable is `PathTemplate(verbatim: path)`.
    @available(
        *, unavailable,
        message: "write PathTemplate(verbatim: path) for a path in a variable; a value stands in a literal: \"/users/\\(id)\""
    )
    @_disfavoredOverload
    public static func get(
        _ path: String, query: URLQuery = URLQuery(), headers: HTTPFields = HTTPFields()
    ) -> Self { Self(.get, PathTemplate(verbatim: path), decoding: .none) }

    /// Not available: a path in a variable is `PathTemplate(verbatim: path)`.
    @available(
        *, unavailable,
        message: "write PathTemplate(verbatim: path) for a path in a variable; a value stands in a literal: \"/users/\\(id)\""
    )
    @_disfavoredOverload
    public static func post(
        _ path: String, query: URLQuery = URLQuery(), headers: HTTPFields = HTTPFields(), body: EndpointBody = .none
    ) -> Self { Self(.post, PathTemplate(verbatim: path), decoding: .none) }

    /// Not available: a path in a variable is `PathTemplate(verbatim: path)`.
    @available(
        *, unavailable,
        message: "write PathTemplate(verbatim: path) for a path in a variable; a value stands in a literal: \"/users/\\(id)\""
    )
    @_disfavoredOverload
    public static func put(
        _ path: String, query: URLQuery = URLQuery(), headers: HTTPFields = HTTPFields(), body: EndpointBody = .none
    ) -> Self { Self(.put, PathTemplate(verbatim: path), decoding: .none) }

    /// Not available: a path in a variable is `PathTemplate(verbatim: path)`.
    @available(
        *, unavailable,
        message: "write PathTemplate(verbatim: path) for a path in a variable; a value stands in a literal: \"/users/\\(id)\""
    )
    @_disfavoredOverload
    public static func patch(
        _ path: String, query: URLQuery = URLQuery(), headers: HTTPFields = HTTPFields(), body: EndpointBody = .none
    ) -> Self { Self(.patch, PathTemplate(verbatim: path), decoding: .none) }

    /// Not available: a path in a variable is `PathTemplate(verbatim: path)`.
    @available(
        *, unavailable,
        message: "write PathTemplate(verbatim: path) for a path in a variable; a value stands in a literal: \"/users/\\(id)\""
    )
    @_disfavoredOverload
    public static func delete(
        _ path: String, query: URLQuery = URLQuery(), headers: HTTPFields = HTTPFields(), body: EndpointBody = .none
    ) -> Self { Self(.delete, PathTemplate(verbatim: path), decoding: .none) }

    /// Not available: a path in a variable is `PathTemplate(verbatim: path)`.
    @available(
        *, unavailable,
        message: "write PathTemplate(verbatim: path) for a path in a variable; a value stands in a literal: \"/users/\\(id)\""
    )
    @_disfavoredOverload
    public static func head(
        _ path: String, query: URLQuery = URLQuery(), headers: HTTPFields = HTTPFields()
    ) -> Self { Self(.head, PathTemplate(verbatim: path), decoding: .none) }

    /// Not available: a path in a variable is `PathTemplate(verbatim: path)`.
    @available(
        *, unavailable,
        message: "write PathTemplate(verbatim: path) for a path in a variable; a value stands in a literal: \"/users/\\(id)\""
    )
    @_disfavoredOverload
    public static func options(
        _ path: String, query: URLQuery = URLQuery(), headers: HTTPFields = HTTPFields()
    ) -> Self { Self(.options, PathTemplate(verbatim: path), decoding: .none) }
}

// MARK: - A value as a body

extension Endpoint {
    /// Not available: a value as a body is `.json(value)`.
    @available(*, unavailable, message: "write body: .json(value)")
    @_disfavoredOverload
    public static func post(
        _ path: PathTemplate, query: URLQuery = URLQuery(), headers: HTTPFields = HTTPFields(), body: some Encodable,
        as type: Output.Type = Output.self
    ) -> Self { Self(.post, path, decoding: .undecodable) }

    /// Not available: a value as a body is `.json(value)`.
    @available(*, unavailable, message: "write body: .json(value)")
    @_disfavoredOverload
    public static func put(
        _ path: PathTemplate, query: URLQuery = URLQuery(), headers: HTTPFields = HTTPFields(), body: some Encodable,
        as type: Output.Type = Output.self
    ) -> Self { Self(.put, path, decoding: .undecodable) }

    /// Not available: a value as a body is `.json(value)`.
    @available(*, unavailable, message: "write body: .json(value)")
    @_disfavoredOverload
    public static func patch(
        _ path: PathTemplate, query: URLQuery = URLQuery(), headers: HTTPFields = HTTPFields(), body: some Encodable,
        as type: Output.Type = Output.self
    ) -> Self { Self(.patch, path, decoding: .undecodable) }
}
