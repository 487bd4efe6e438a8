extension Response {
    /// The parts of a multipart body ([RFC 2046, section 5.1](https://www.rfc-editor.org/rfc/rfc2046#section-5.1)), such as `multipart/mixed`,
    /// `multipart/form-data` and `multipart/byteranges`, one after the other while the body arrives.
    ///
    /// ```swift
    /// for try await part in try response.parts() {
    ///     guard part.head.contentType?.isJSON == true else { continue }      // the rest of a part is skipped
    ///     print(try await part.collect(upTo: 64 * 1024))
    /// }
    /// ```
    ///
    /// The boundary is that of `Content-Type`. The content of a part is read before the next part is asked for; what of it was not read is skipped.
    /// Nothing is kept. Read the parts once.
    ///
    /// - Parameters:
    ///   - headLimitBytes: the longest head of a part, in bytes; at least 0, 16 KiB by default.
    ///   - partLimit: the most parts; at least 0, 1000 by default.
    /// - Throws: ``/ErrandFormats/MultipartError`` with the reason `notMultipart` if the body is not multipart, or has no valid boundary. The body is
    ///   not read then.
    public func parts(headLimitBytes: Int = 16 * 1024, partLimit: Int = 1000) throws(MultipartError) -> MultipartParts {
        let type = head.headerFields[.contentType].flatMap { MediaType($0) }
        guard let type, type.type == "multipart" else {
            throw MultipartError(.notMultipart, "the media type of the body is not multipart")
        }
        guard let boundary = type[parameter: "boundary"].flatMap({ MultipartBoundary($0) }) else {
            throw MultipartError(.notMultipart, "the media type of the body has no valid boundary")
        }
        return MultipartParts(
            body: body, boundary: boundary, headLimitBytes: headLimitBytes, partLimit: partLimit)
    }
}

/// The parts of a multipart body. See ``Response/parts(headLimitBytes:partLimit:)``.
public struct MultipartParts: AsyncSequence, Sendable {
    public typealias Element = MultipartPart
    public typealias Failure = any Error

    fileprivate let body: ResponseBody
    fileprivate let boundary: MultipartBoundary
    fileprivate let headLimitBytes: Int
    fileprivate let partLimit: Int

    public func makeAsyncIterator() -> Iterator {
        let reader = MultipartReader(boundary: boundary, headLimitBytes: headLimitBytes, partLimit: partLimit)
        return Iterator(reader: PartReader(body.asSource(), reader))
    }

    /// Reads the parts of a body.
    public struct Iterator: AsyncIteratorProtocol {
        fileprivate let reader: PartReader

        /// Returns the next part; `nil` after the last one. The rest of the part before is skipped.
        ///
        /// - Throws: ``/ErrandFormats/MultipartError``; what the body throws.
        public mutating func next() async throws -> MultipartPart? {
            try await reader.nextPart().map { MultipartPart(head: $0.head, number: $0.number, reader: reader) }
        }

        public mutating func next(isolation actor: isolated (any Actor)?) async throws -> MultipartPart? { try await next() }
    }
}

/// A part of a multipart body: its head, and its content as a sequence of chunks. Read the content before the next part is asked for.
public struct MultipartPart: AsyncSequence, Sendable {
    public typealias Element = Data
    public typealias Failure = any Error

    /// The fields of the part.
    public let head: MultipartHead
    fileprivate let number: Int
    fileprivate let reader: PartReader

    public func makeAsyncIterator() -> Iterator { Iterator(number: number, reader: reader) }

    /// Reads the content of a part.
    public struct Iterator: AsyncIteratorProtocol {
        fileprivate let number: Int
        fileprivate let reader: PartReader

        /// Returns the next chunk, never empty; `nil` at the end of the part.
        ///
        /// - Throws: ``/ErrandFormats/MultipartError``, with the reason `partIsOver` once the next part was asked for; what the body throws.
        public mutating func next() async throws -> Data? { try await reader.nextChunk(ofPart: number) }

        public mutating func next(isolation actor: isolated (any Actor)?) async throws -> Data? { try await next() }
    }

    /// Returns the rest of the content.
    ///
    /// - Parameter limitBytes: the most bytes: at least 0, 64 MiB by default.
    /// - Throws: ``TransportError`` with the code `bodyTooLarge` for a longer content; what reading throws.
    public func collect(upTo limitBytes: Int = ResponseBody.defaultCollectLimitBytes) async throws -> Data {
        precondition(limitBytes >= 0, "limitBytes must be at least 0 (is \(limitBytes))")
        var content = Data()
        for try await chunk in self {
            guard content.count + chunk.count <= limitBytes else {
                throw TransportError.bodyTooLarge(limitBytes: limitBytes, request: nil)
            }
            content.append(chunk)
        }
        return content
    }
}

extension MultipartPart: CustomStringConvertible, CustomReflectable {
    /// `part 2`, without its fields and its content.
    public var description: String { "part \(number)" }
    /// The description alone.
    public var customMirror: Mirror { Mirror(self, children: ["part": description]) }
}

extension MultipartParts: CustomStringConvertible, CustomReflectable {
    /// The body's length, never its bytes.
    public var description: String { "parts of \(body)" }
    /// The description alone.
    public var customMirror: Mirror { Mirror(self, children: ["parts": description]) }
}

/// Reads one multipart body for all of its parts, one reader at a time.
private actor PartReader {
    private let source: any BodySource
    private var reader: MultipartReader
    /// The number of the current part, from 1.
    private var number = 0
    private var isInPart = false
    private var isBusy = false
    private var isOver = false

    init(_ source: any BodySource, _ reader: MultipartReader) { (self.source, self.reader) = (source, reader) }

    func nextPart() async throws -> (head: MultipartHead, number: Int)? {
        try await exclusively {
            while let event = try await nextEvent() {
                guard case .head(let head) = event else { continue }
                number += 1
                isInPart = true
                return (head, number)
            }
            // Whoever holds the last part has read it.
            number += 1
            return nil
        }
    }

    func nextChunk(ofPart part: Int) async throws -> Data? {
        try await exclusively {
            guard part == number else {
                throw MultipartError(.partIsOver, "the content of a part can be read only before the next part is asked for")
            }
            guard isInPart, let event = try await nextEvent() else { return nil }
            if case .content(let bytes) = event { return Data(bytes) }
            isInPart = false
            return nil
        }
    }

    private func exclusively<Result>(_ work: () async throws -> Result) async throws -> Result {
        guard !isBusy else { throw BodyAlreadyUsedError() }
        isBusy = true
        defer { isBusy = false }
        return try await work()
    }

    private func nextEvent() async throws -> MultipartReader.Event? {
        if isOver { return nil }
        do {
            while true {
                if let event = try reader.next() { return event }
                guard !reader.isComplete, let chunk = try await source.next() else {
                    try reader.finish()
                    isOver = true
                    try await drain()
                    return nil
                }
                reader.append(chunk)
            }
        } catch let error as MultipartError {
            source.fail(with: error)
            throw error
        }
    }

    /// What stands after the closing delimiter is not looked at; a little of it is read, so that the exchange ends.
    private func drain() async throws {
        for _ in 0..<4 { guard try await source.next() != nil else { return } }
        source.abandon()
    }
}
