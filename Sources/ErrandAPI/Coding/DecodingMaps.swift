internal import ErrandCore

// A value of another type, made of the one that was decoded.

extension ResponseDecoding {
    /// This decoding, followed by a conversion of its value.
    ///
    /// ```swift
    /// let names = ResponseDecoding<[User]>.json.map { $0.map(\.name) }
    /// ```
    ///
    /// - Parameter transform: runs after the decoding, as a part of the call. An error that it throws fails the call and reaches the caller as it is; a
    ///   `DecodingError` becomes a ``ResponseDecodingError``.
    public func map<Value: Sendable>(_ transform: @escaping @Sendable (Output) throws -> Value) -> ResponseDecoding<Value> {
        converted(transform)
    }
}

extension Endpoint {
    /// The same call with another output, converted from this one: a model of the app in place of what the server sends.
    ///
    /// ```swift
    /// static func user(_ id: Int) -> Endpoint<User> {
    ///     Endpoint<UserDTO>.get("/users/\(id, "id")").map { User($0) }
    /// }
    /// ```
    ///
    /// - Parameter transform: runs after the decoding, as a part of the call. An error that it throws fails the call and reaches the caller as it is; a
    ///   `DecodingError` becomes a ``ResponseDecodingError``.
    public func map<Value: Sendable>(_ transform: @escaping @Sendable (Output) throws -> Value) -> Endpoint<Value> {
        var endpoint = Endpoint<Value>(method, path, query: query, headers: headers, body: body, decoding: decoding.map(transform))
        endpoint.options = options
        return endpoint
    }
}
