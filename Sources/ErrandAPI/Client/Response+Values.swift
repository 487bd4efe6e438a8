public import ErrandCore

// The functions of this file read the body of a response as a value. Use these functions for a response of
// `HTTPStack.send(_:)` or `APIClient.send(_:)`.

extension Response {
    /// Reads the whole body and returns its bytes.
    ///
    /// - Parameter limitBytes: the largest accepted size of the body. Default: 64 MiB.
    /// - Throws: ``/ErrandCore/TransportError`` with the code `bodyTooLarge`, and the errors of reading the body.
    @concurrent public func data(upTo limitBytes: Int = ResponseBody.defaultCollectLimitBytes) async throws -> Data {
        try await body.collect(upTo: limitBytes)
    }

    /// Reads the whole body and returns it as text.
    ///
    /// The `charset` of `Content-Type` selects the encoding: UTF-8, ISO-8859-1, windows-1252 or UTF-16. If the `charset` is missing or
    /// unknown, the text is read as UTF-8. Invalid bytes become U+FFFD.
    ///
    /// - Parameter limitBytes: the largest accepted size of the body. Default: 64 MiB.
    /// - Throws: ``/ErrandCore/TransportError`` with the code `bodyTooLarge`, and the errors of reading the body.
    @concurrent public func text(upTo limitBytes: Int = ResponseBody.defaultCollectLimitBytes) async throws -> String {
        head.text(of: try await body.collect(upTo: limitBytes))
    }

    /// Reads the body and decodes it from JSON.
    ///
    /// ```swift
    /// let response = try await stack.send(Request(.get, "/users/7"))
    /// let user = try await response.json(as: User.self)
    /// ```
    ///
    /// The status is not checked: add `validateStatus` to the stack, or send the request through a client.
    ///
    /// - Parameters:
    ///   - type: the type of the value. For a body of any shape, pass `JSONValue.self`. If the type is optional and the body is
    ///     empty, the result is `nil`.
    ///   - coding: the rules for decoding. Default: `nil`, which means the coding of the client that sent the request, or
    ///     ``/ErrandCore/JSONCoding/standard`` if no client sent the request.
    ///   - limitBytes: the largest accepted size of the body. Default: 64 MiB.
    /// - Throws: ``ResponseDecodingError``; ``/ErrandCore/TransportError`` with the code `bodyTooLarge`; the errors of reading the body.
    @concurrent public func json<Value: Decodable & Sendable>(
        as type: Value.Type = Value.self, coding: JSONCoding? = nil, upTo limitBytes: Int = ResponseBody.defaultCollectLimitBytes
    ) async throws -> Value {
        try await decoded(as: .json, coding: coding, upTo: limitBytes)
    }

    /// Returns the body as a sequence of JSON values, one in each line: newline-delimited JSON (`application/x-ndjson`), or JSON Lines.
    ///
    /// ```swift
    /// for try await entry in response.ndjson(as: LogEntry.self, onInvalid: { print($0) }) { print(entry.message) }
    /// ```
    ///
    /// The result is the same as with ``/ErrandCore/ResponseBody/ndjson(as:coding:upTo:onInvalid:)`` and the coding of the client.
    ///
    /// - Parameters:
    ///   - type: the type of the values.
    ///   - coding: the rules for decoding. Default: `nil`, which means the coding of the client that sent the request, or
    ///     ``/ErrandCore/JSONCoding/standard`` if no client sent the request.
    ///   - limitBytes: the largest length of a line, in bytes, at least 1. Default: 1 MiB.
    ///   - onInvalid: a closure that is called with the error of each line that is not a `Value`. Invalid lines are skipped. With `nil`,
    ///     the default, the sequence throws the error.
    public func ndjson<Value: Decodable & Sendable>(
        as type: Value.Type = Value.self, coding: JSONCoding? = nil, upTo limitBytes: Int = ResponseBody.defaultJSONTextLimitBytes,
        onInvalid: (@Sendable (JSONTextError) -> Void)? = nil
    ) -> ResponseBody.JSONTexts<Value> {
        body.ndjson(as: type, coding: coding ?? request.options.call.json ?? .standard, upTo: limitBytes, onInvalid: onInvalid)
            .of(request)
    }

    /// Returns the body as the values of a JSON text sequence (`application/json-seq`, [RFC 7464](https://www.rfc-editor.org/rfc/rfc7464)).
    ///
    /// The result is the same as with ``/ErrandCore/ResponseBody/jsonSequence(as:coding:upTo:onInvalid:)`` and the coding of the client.
    ///
    /// - Parameters:
    ///   - type: the type of the values.
    ///   - coding: the rules for decoding. Default: `nil`, which means the coding of the client that sent the request, or
    ///     ``/ErrandCore/JSONCoding/standard`` if no client sent the request.
    ///   - limitBytes: the largest length of a text, in bytes, at least 1. Default: 1 MiB.
    ///   - onInvalid: a closure that is called with the error of each text that is not a `Value`. Invalid texts are skipped. With `nil`,
    ///     the default, the sequence throws the error.
    public func jsonSequence<Value: Decodable & Sendable>(
        as type: Value.Type = Value.self, coding: JSONCoding? = nil, upTo limitBytes: Int = ResponseBody.defaultJSONTextLimitBytes,
        onInvalid: (@Sendable (JSONTextError) -> Void)? = nil
    ) -> ResponseBody.JSONTexts<Value> {
        body.jsonSequence(as: type, coding: coding ?? request.options.call.json ?? .standard, upTo: limitBytes, onInvalid: onInvalid)
            .of(request)
    }

    /// Reads the body and decodes it with the given decoding.
    ///
    /// - Parameters:
    ///   - decoding: the decoding of the body, such as the decoding of an ``Endpoint``.
    ///   - coding: the rules for decoding JSON. Default: `nil`, which means the coding of the client that sent the request, or
    ///     ``/ErrandCore/JSONCoding/standard`` if no client sent the request.
    ///   - limitBytes: the largest accepted size of the body. Default: 64 MiB.
    /// - Throws: ``ResponseDecodingError`` for a `DecodingError`; any other error of the decoding, unchanged; the errors of reading
    ///   the body.
    @concurrent public func decoded<Output>(
        as decoding: ResponseDecoding<Output>, coding: JSONCoding? = nil, upTo limitBytes: Int = ResponseBody.defaultCollectLimitBytes
    ) async throws -> Output {
        try await decoded(as: decoding, in: nil, coding: coding, upTo: limitBytes)
    }

    /// - Parameter envelope: the envelope of the client; `nil` if the client has no envelope.
    @concurrent func decoded<Output>(
        as decoding: ResponseDecoding<Output>, in envelope: (any ResponseEnvelope.Type)?, coding: JSONCoding?, upTo limitBytes: Int
    ) async throws -> Output {
        let data = decoding.wantsBody(in: envelope) ? try await body.collect(upTo: limitBytes) : try await body.drain()
        let coding = decoding.coding ?? coding ?? request.options.call.json ?? .standard
        do {
            return try decoding.value(from: data, head: head, json: coding, in: envelope)
        } catch let error where error is DecodingError || error is EnvelopeProblem {
            throw ResponseDecodingError(Output.self, underlying: error, body: data, of: self, coding: coding)
        } catch let error as ServiceError where envelope != nil {
            throw error.completed(by: self)
        }
    }
}
