extension ResponseBody {
    /// The body as single bytes, for code that reads byte by byte, such as code that was written for `URLSession.AsyncBytes`.
    ///
    /// ```swift
    /// var sum = 0
    /// for try await byte in response.body.bytes { sum += Int(byte) }
    /// ```
    ///
    /// The body is read chunk by chunk. A byte of the current chunk needs no suspension and no allocation. However, each byte needs an
    /// asynchronous call. If your code can work with larger parts, read the body itself, ``lines`` or ``collect(upTo:)``. The number of
    /// bytes has no limit.
    ///
    /// The sequence reads ahead by one chunk at most. A `break` abandons the rest of the body.
    public var bytes: Bytes { Bytes(body: self) }

    /// The bytes of a body. See ``ResponseBody/bytes``.
    public struct Bytes: AsyncSequence, Sendable {
        public typealias Element = UInt8
        public typealias Failure = any Error

        let body: ResponseBody

        public func makeAsyncIterator() -> Iterator { Iterator(body.makeAsyncIterator()) }

        /// An iterator over the bytes of a body.
        public struct Iterator: AsyncIteratorProtocol {
            /// The largest number of bytes that are copied from a chunk in one step. Access to an array is several times faster than access
            /// to `Data`.
            private static let windowBytes = 32 * 1024

            private var body: ResponseBody.Iterator
            /// The bytes of the current chunk that follow the window.
            private var rest = Data()
            @usableFromInline var window: [UInt8] = []
            @usableFromInline var position = 0

            init(_ body: ResponseBody.Iterator) { self.body = body }

            /// Returns the next byte; `nil` at the end.
            ///
            /// - Throws: the errors of the body, after the bytes that were received before the error. See
            ///   ``ResponseBody/Iterator/next()``.
            @inlinable public mutating func next() async throws -> UInt8? {
                if position < window.count {
                    defer { position += 1 }
                    return window[position]
                }
                return try await firstOfNextWindow()
            }

            @inlinable public mutating func next(isolation actor: isolated (any Actor)?) async throws -> UInt8? { try await next() }

            @usableFromInline mutating func firstOfNextWindow() async throws -> UInt8? {
                (window, position) = ([], 0)
                if rest.isEmpty {
                    guard let chunk = try await body.next() else { return nil }
                    rest = chunk
                }
                window = Array(rest.prefix(Self.windowBytes))
                rest = rest.dropFirst(window.count)
                position = 1
                return window.first
            }
        }
    }
}

extension ResponseBody.Bytes.Iterator: HidesStorage {}
