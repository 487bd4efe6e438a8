/// The parts of a multipart body. See ``Response/parts(headLimitBytes:maxParts:)``.
public struct MultipartParts: AsyncSequence, Sendable {
    public typealias Element = MultipartPart
    public typealias Failure = any Error

    let body: ResponseBody
    let boundary: MultipartBoundary
    let headLimitBytes: Int
    let maxParts: Int
    /// The request to which the errors of the parts refer.
    let request: Request?

    public func makeAsyncIterator() -> Iterator {
        let reader = MultipartReader(boundary: boundary, headLimitBytes: headLimitBytes, maxParts: maxParts)
        return Iterator(reader: PartReader(body.asSource(), reader, request: request))
    }

    /// An iterator over the parts of a body.
    public struct Iterator: AsyncIteratorProtocol {
        fileprivate let reader: PartReader

        /// Returns the next part; `nil` after the last part. Skips the unread rest of the previous part.
        ///
        /// - Throws: ``/ErrandFormats/MultipartError``; the errors of the body.
        public mutating func next() async throws -> MultipartPart? {
            try await reader.nextPart().map { MultipartPart(head: $0.head, number: $0.number, reader: reader) }
        }

        public mutating func next(isolation actor: isolated (any Actor)?) async throws -> MultipartPart? { try await next() }
    }
}

/// A part of a multipart body: its head, and its content as a sequence of chunks. Read the content before you ask for the next
/// part.
public struct MultipartPart: AsyncSequence, Sendable {
    public typealias Element = Data
    public typealias Failure = any Error

    /// The fields of the part.
    public let head: MultipartHead
    fileprivate let number: Int
    fileprivate let reader: PartReader

    public func makeAsyncIterator() -> Iterator { Iterator(number: number, reader: reader) }

    /// An iterator over the content of a part.
    public struct Iterator: AsyncIteratorProtocol {
        fileprivate let number: Int
        fileprivate let reader: PartReader

        /// Returns the next chunk, never empty; `nil` at the end of the part.
        ///
        /// - Throws: ``/ErrandFormats/MultipartError``, with the reason `readAfterNextPart` if the next part was already requested; the
        ///   errors of the body.
        public mutating func next() async throws -> Data? { try await reader.nextChunk(ofPart: number) }

        public mutating func next(isolation actor: isolated (any Actor)?) async throws -> Data? { try await next() }
    }

    /// Reads and returns the rest of the content.
    ///
    /// - Parameter limitBytes: the maximum length of the content, in bytes; at least 0. Default: 64 MiB.
    /// - Throws: ``TransportError`` with the code `bodyTooLarge` if the content is longer; the errors of reading.
    public func collect(upTo limitBytes: Int = ResponseBody.defaultCollectLimitBytes) async throws -> Data {
        precondition(limitBytes >= 0, "limitBytes must be at least 0 (is \(limitBytes))")
        var content = Data()
        for try await chunk in self {
            guard content.count + chunk.count <= limitBytes else {
                throw TransportError.bodyTooLarge(limitBytes: limitBytes, request: reader.request)
            }
            content.append(chunk)
        }
        return content
    }
}

extension MultipartPart: CustomStringConvertible, HidesStorage {
    /// `part 2`, without its fields and its content.
    public var description: String { "part \(number)" }
}

extension MultipartParts: CustomStringConvertible, HidesStorage {
    /// The body's length, never its bytes.
    public var description: String { "parts of \(body)" }
}

/// The only reader of a multipart body, shared by all parts of the body. Only one caller can read at a time.
private actor PartReader {
    let request: Request?
    private let source: any BodySource
    private var reader: MultipartReader
    /// The number of the current part, from 1.
    private var number = 0
    private var isInPart = false
    private var isBusy = false
    private var isOver = false

    init(_ source: any BodySource, _ reader: MultipartReader, request: Request?) {
        (self.source, self.reader, self.request) = (source, reader, request)
    }

    func nextPart() async throws -> (head: MultipartHead, number: Int)? {
        try await exclusively {
            while let event = try await nextEvent() {
                guard case .head(let head) = event else { continue }
                number += 1
                isInPart = true
                return (head, number)
            }
            // The number now belongs to no part. Therefore a later read of the last part throws an error, as a read of an earlier part
            // does.
            number += 1
            return nil
        }
    }

    func nextChunk(ofPart part: Int) async throws -> Data? {
        try await exclusively {
            guard part == number else {
                throw MultipartError(.readAfterNextPart, "the content of a part can be read only before the next part is requested")
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

    /// The maximum number of chunks that are read after the closing delimiter, so that the exchange can end.
    private static let maxEpilogueChunks = 4

    /// Reads and drops at most ``maxEpilogueChunks`` chunks after the closing delimiter. If there are more chunks, abandons the body.
    private func drain() async throws {
        for _ in 0..<Self.maxEpilogueChunks { guard try await source.next() != nil else { return } }
        source.abandon()
    }
}
