internal import ErrandFormats

extension ResponseBody {
    /// The default length limit of a line of ``ndjson(as:coding:upTo:onInvalid:)``, and of a text of
    /// ``jsonSequence(as:coding:upTo:onInvalid:)``: 1 MiB.
    public static let defaultJSONTextLimitBytes = JSONLineSplitter.defaultLineLimitBytes

    /// Returns the body as values, one from each line: newline-delimited JSON (`application/x-ndjson`), or JSON Lines.
    ///
    /// ```swift
    /// for try await entry in response.body.ndjson(as: LogEntry.self) { print(entry.message) }
    /// ```
    ///
    /// A line ends with LF or CR LF. The last line needs no ending. Empty lines are skipped. If a line is not a `Value`, the iterator
    /// throws a ``JSONTextError`` with the line's number. The next call of the iterator's `next()` continues with the next line.
    ///
    /// - Parameters:
    ///   - type: the type of the values.
    ///   - coding: the rules by which the JSON is read. Default: dates in ISO 8601, and members with the names of the properties.
    ///     This function does not use the coding of a client; `response.ndjson(as:)` does.
    ///   - limitBytes: the largest length of a line, in bytes, at least 1. Default: 1 MiB.
    ///   - onInvalid: called with the error of each line that is not a `Value`. After the call, the line is skipped. `nil`, the default:
    ///     the iterator throws the error.
    public func ndjson<Value: Decodable & Sendable>(
        as type: Value.Type = Value.self, coding: JSONCoding = .standard, upTo limitBytes: Int = defaultJSONTextLimitBytes,
        onInvalid: (@Sendable (JSONTextError) -> Void)? = nil
    ) -> JSONTexts<Value> {
        precondition(limitBytes > 0, "limitBytes must be at least 1 (is \(limitBytes))")
        return JSONTexts(body: self, splitter: JSONLineSplitter(lineLimitBytes: limitBytes), coding: coding, onInvalid: onInvalid)
    }

    /// Returns the body as values of a JSON text sequence (`application/json-seq`, [RFC 7464](https://www.rfc-editor.org/rfc/rfc7464)).
    ///
    /// ```swift
    /// for try await entry in response.body.jsonSequence(as: LogEntry.self) { print(entry.message) }
    /// ```
    ///
    /// If a text is cut off, or is not a `Value`, the iterator throws a ``JSONTextError`` with the text's number. The next call of the
    /// iterator's `next()` continues with the next text ([section 2.3](https://www.rfc-editor.org/rfc/rfc7464#section-2.3)).
    ///
    /// - Parameters:
    ///   - type: the type of the values.
    ///   - coding: the rules by which the JSON is read. Default: dates in ISO 8601, and members with the names of the properties.
    ///     This function does not use the coding of a client; `response.jsonSequence(as:)` does.
    ///   - limitBytes: the largest length of a text, in bytes, at least 1. Default: 1 MiB.
    ///   - onInvalid: called with the error of each text that is not a `Value`. After the call, the text is skipped. `nil`, the default:
    ///     the iterator throws the error.
    public func jsonSequence<Value: Decodable & Sendable>(
        as type: Value.Type = Value.self, coding: JSONCoding = .standard, upTo limitBytes: Int = defaultJSONTextLimitBytes,
        onInvalid: (@Sendable (JSONTextError) -> Void)? = nil
    ) -> JSONTexts<Value> {
        precondition(limitBytes > 0, "limitBytes must be at least 1 (is \(limitBytes))")
        return JSONTexts(
            body: self, splitter: JSONSequenceSplitter(textLimitBytes: limitBytes), coding: coding, onInvalid: onInvalid)
    }

    /// The values of a body with many JSON texts.
    ///
    /// See ``ResponseBody/ndjson(as:coding:upTo:onInvalid:)`` and ``ResponseBody/jsonSequence(as:coding:upTo:onInvalid:)``.
    public struct JSONTexts<Value: Decodable & Sendable>: AsyncSequence, Sendable {
        public typealias Element = Value
        public typealias Failure = any Error

        let body: ResponseBody
        let splitter: any JSONTextSplitter
        let coding: JSONCoding
        let onInvalid: (@Sendable (JSONTextError) -> Void)?
        /// The request that the errors name. With `nil`, the errors name the request of the body, if the body has a request.
        var request: Request?

        public func makeAsyncIterator() -> Iterator {
            Iterator(
                body: body.makeAsyncIterator(), splitter: splitter, coding: coding, onInvalid: onInvalid, request: request ?? body.request)
        }

        /// Returns these values with errors that name `request`. This function is necessary for a body in memory, which does not have
        /// its request.
        package func of(_ request: Request) -> JSONTexts {
            var texts = self
            texts.request = request
            return texts
        }

        /// An iterator over the values of a body.
        public struct Iterator: AsyncIteratorProtocol {
            private var body: ResponseBody.Iterator
            private var splitter: any JSONTextSplitter
            private let coding: JSONCoding
            private let onInvalid: (@Sendable (JSONTextError) -> Void)?
            private let request: Request?
            private var isAtEnd = false

            init(
                body: ResponseBody.Iterator, splitter: any JSONTextSplitter, coding: JSONCoding,
                onInvalid: (@Sendable (JSONTextError) -> Void)?, request: Request?
            ) {
                self.body = body
                self.splitter = splitter
                self.coding = coding
                self.onInvalid = onInvalid
                self.request = request
            }

            /// Returns the next value; `nil` at the end.
            ///
            /// - Throws: ``JSONTextError``, after which there may be more values; ``TransportError`` with the code `bodyTooLarge`
            ///   for a text that exceeds the limit; the errors of the body.
            public mutating func next() async throws -> Value? {
                while true {
                    if let text = try nextText() {
                        switch Result(catching: { try text.decoded(as: Value.self, coding, of: request) }) {
                        case .success(let value): return value
                        case .failure(let error):
                            guard let onInvalid, let error = error as? JSONTextError else { throw error }
                            onInvalid(error)
                        }
                        continue
                    }
                    if isAtEnd { return nil }
                    if let chunk = try await body.next() { splitter.append(chunk) } else { isAtEnd = true }
                }
            }

            public mutating func next(isolation actor: isolated (any Actor)?) async throws -> Value? { try await next() }

            private mutating func nextText() throws -> JSONText? {
                do throws(JSONTextTooLargeError) {
                    if let text = try splitter.nextText() { return text }
                    return isAtEnd ? try splitter.lastText() : nil
                } catch {
                    throw body.tooLarge(error.limitBytes)
                }
            }
        }
    }
}

extension ResponseBody.JSONTexts.Iterator: HidesStorage {}

/// A type that divides a body into JSON texts: by lines, or by the separators of a JSON text sequence.
protocol JSONTextSplitter: Sendable {
    mutating func append(_ chunk: Data)
    /// Returns the next text; `nil` if more bytes are needed.
    mutating func nextText() throws(JSONTextTooLargeError) -> JSONText?
    /// Returns the text that the end of the body completes; `nil` if there is no such text.
    mutating func lastText() throws(JSONTextTooLargeError) -> JSONText?
}

extension JSONLineSplitter: JSONTextSplitter {
    mutating func nextText() throws(JSONTextTooLargeError) -> JSONText? { try next().map(Self.text) }
    mutating func lastText() throws(JSONTextTooLargeError) -> JSONText? { try finish().map(Self.text) }

    private static func text(_ line: Line) -> JSONText { JSONText(place: .line(line.number), bytes: line.bytes) }
}

extension JSONSequenceSplitter: JSONTextSplitter {
    mutating func nextText() throws(JSONTextTooLargeError) -> JSONText? { try next().map(Self.text) }
    mutating func lastText() throws(JSONTextTooLargeError) -> JSONText? { try finish().map(Self.text) }

    private static func text(_ item: Item) -> JSONText { JSONText(place: .text(item.number), bytes: item.bytes, isCutOff: item.isCutOff) }
}

struct JSONText {
    let place: JSONTextError.Place
    let bytes: [UInt8]
    var isCutOff = false

    func decoded<Value: Decodable>(as type: Value.Type, _ coding: JSONCoding, of request: Request?) throws(JSONTextError) -> Value {
        do {
            if isCutOff { throw JSONTextError.CutOff() }
            return try coding.decode(type, from: Data(bytes))
        } catch {
            throw JSONTextError(place, type, underlying: error, of: request)
        }
    }
}
