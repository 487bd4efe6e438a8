public import ErrandCore

extension HTTPSender {
    /// Returns the response to `request` and its whole body.
    public func whole(_ request: Request, upTo limitBytes: Int = 64 * 1024 * 1024) async throws -> (response: Response, body: Data) {
        let response = try await send(request)
        return (response, try await response.body.collect(upTo: limitBytes))
    }

    /// Returns the body of the response to a GET of `url`, as text.
    public func text(_ url: String) async throws -> String {
        String(decoding: try await whole(Request(.get, url: url)).body, as: UTF8.self)
    }
}
