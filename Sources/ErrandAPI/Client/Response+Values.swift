public import ErrandCore

// The body of a response as a value, for responses that are taken from a stack or step by step from a client.

extension Response {
    /// The whole body as bytes. Reads the body.
    ///
    /// - Parameter limitBytes: the size above which the body is refused: 64 MiB by default.
    /// - Throws: ``/ErrandCore/TransportError`` with the code `bodyTooLarge`, and what reading the body throws.
    @concurrent public func data(upTo limitBytes: Int = ResponseBody.defaultCollectLimitBytes) async throws -> Data {
        try await body.collect(upTo: limitBytes)
    }

    /// The whole body as text. Reads the body.
    ///
    /// The text is in the `charset` of `Content-Type`: UTF-8, ISO-8859-1, windows-1252 or UTF-16. Any other one, and none, is read as UTF-8. What is invalid in it
    /// becomes U+FFFD.
    ///
    /// - Parameter limitBytes: the size above which the body is refused: 64 MiB by default.
    /// - Throws: ``/ErrandCore/TransportError`` with the code `bodyTooLarge`, and what reading the body throws.
    @concurrent public func text(upTo limitBytes: Int = ResponseBody.defaultCollectLimitBytes) async throws -> String {
        head.text(of: try await body.collect(upTo: limitBytes))
    }

    /// The body as a value in JSON. Reads the body.
    ///
    /// ```swift
    /// let response = try await stack.send(Request(.get, "/users/7"))
    /// let user = try await response.json(as: User.self)
    /// ```
    ///
    /// The status is not looked at: see `validateStatus`, or send the request by a client.
    ///
    /// - Parameters:
    ///   - type: `JSONValue.self` for a body of any shape. An optional type is `nil` for an empty body.
    ///   - coding: `nil`, the default, takes the coding of the client that sent the request; without a client, ``/ErrandCore/JSONCoding/standard``.
    ///   - limitBytes: the size above which the body is refused: 64 MiB by default.
    /// - Throws: ``ResponseDecodingError``; ``/ErrandCore/TransportError`` with the code `bodyTooLarge`; what reading the body throws.
    @concurrent public func json<Value: Decodable & Sendable>(
        as type: Value.Type = Value.self, coding: JSONCoding? = nil, upTo limitBytes: Int = ResponseBody.defaultCollectLimitBytes
    ) async throws -> Value {
        try await decoded(as: .json, coding: coding, upTo: limitBytes)
    }

    /// The body as values, one in each line: newline-delimited JSON (`application/x-ndjson`), or JSON Lines.
    ///
    /// ```swift
    /// for try await entry in response.ndjson(as: LogEntry.self, onInvalid: { print($0) }) { print(entry.message) }
    /// ```
    ///
    /// As ``/ErrandCore/ResponseBody/ndjson(as:coding:upTo:onInvalid:)``, by the coding of the client.
    ///
    /// - Parameters:
    ///   - type: the type of the values.
    ///   - coding: `nil`, the default, takes the coding of the client that sent the request; without a client, ``/ErrandCore/JSONCoding/standard``.
    ///   - limitBytes: the largest length of a line, in bytes; at least 1, 1 MiB by default.
    ///   - onInvalid: is called with the error of each line that is not a `Value`, which is then skipped. `nil`, the default, throws the error.
    public func ndjson<Value: Decodable & Sendable>(
        as type: Value.Type = Value.self, coding: JSONCoding? = nil, upTo limitBytes: Int = ResponseBody.defaultJSONTextLimitBytes,
        onInvalid: (@Sendable (JSONTextError) -> Void)? = nil
    ) -> ResponseBody.JSONTexts<Value> {
        body.ndjson(as: type, coding: coding ?? request.options.call.json ?? .standard, upTo: limitBytes, onInvalid: onInvalid)
    }

    /// The body as values of a JSON text sequence (`application/json-seq`, [RFC 7464](https://www.rfc-editor.org/rfc/rfc7464)).
    ///
    /// As ``/ErrandCore/ResponseBody/jsonSequence(as:coding:upTo:onInvalid:)``, by the coding of the client.
    ///
    /// - Parameters:
    ///   - type: the type of the values.
    ///   - coding: `nil`, the default, takes the coding of the client that sent the request; without a client, ``/ErrandCore/JSONCoding/standard``.
    ///   - limitBytes: the largest length of a text, in bytes; at least 1, 1 MiB by default.
    ///   - onInvalid: is called with the error of each text that is not a `Value`, which is then skipped. `nil`, the default, throws the error.
    public func jsonSequence<Value: Decodable & Sendable>(
        as type: Value.Type = Value.self, coding: JSONCoding? = nil, upTo limitBytes: Int = ResponseBody.defaultJSONTextLimitBytes,
        onInvalid: (@Sendable (JSONTextError) -> Void)? = nil
    ) -> ResponseBody.JSONTexts<Value> {
        body.jsonSequence(as: type, coding: coding ?? request.options.call.json ?? .standard, upTo: limitBytes, onInvalid: onInvalid)
    }

    /// The body as a value, by any decoding. Reads the body.
    ///
    /// - Parameters:
    ///   - decoding: how the body becomes the value, such as that of an ``Endpoint``.
    ///   - coding: the JSON coding that the decoding gets. `nil`, the default, takes that of the client that sent the request; without a client,
    ///     ``/ErrandCore/JSONCoding/standard``.
    ///   - limitBytes: the size above which the body is refused: 64 MiB by default.
    /// - Throws: ``ResponseDecodingError`` for a `DecodingError`, any other error of the decoding as it is, and what reading the body throws.
    @concurrent public func decoded<Output>(
        as decoding: ResponseDecoding<Output>, coding: JSONCoding? = nil, upTo limitBytes: Int = ResponseBody.defaultCollectLimitBytes
    ) async throws -> Output {
        try await decoded(as: decoding, in: nil, coding: coding, upTo: limitBytes)
    }

    /// - Parameter envelope: that of the client; `nil` if it has none.
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
