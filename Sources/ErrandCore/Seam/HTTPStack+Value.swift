extension HTTPStack {
    /// Sends a request, and decodes a value from its response. For the observers of the request, the call ends when `read` has
    /// returned or thrown.
    ///
    /// - Parameters:
    ///   - serviceErrors: reads the error of the back end in the body of a refused response; `nil` if the client has no envelope.
    ///   - read: decodes the response. If `read` throws a ``StatusError`` with an error of the back end, the call ends with the
    ///     error of the back end.
    /// - Throws: any error of sending the request; any error that `read` throws.
    package func value<Value>(
        of request: Request, serviceErrors: ServiceErrorReader?, by read: (Response) async throws -> Value
    ) async throws -> Value {
        var typed = request
        typed.options.call.expectValue(serviceErrors)
        var response: Response
        // This code has no closure, because a closure would copy the request once more.
        do {
            response = try await send(typed)
        } catch {
            throw error.restoringCall(of: request)
        }
        response.request.restoreCall(of: request)
        let end = response.metadata.callEnd
        response.metadata.callEnd = nil
        let value: Value
        do {
            value = try await read(response)
        } catch {
            end?.end(.failed((error as? StatusError)?.serviceError ?? error))
            throw error
        }
        end?.end(.decoded)
        return value
    }
}
