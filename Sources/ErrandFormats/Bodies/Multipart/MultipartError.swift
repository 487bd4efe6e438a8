/// The error for a multipart body that can't be read or created.
public struct MultipartError: Error, Sendable, Hashable, CustomStringConvertible {
    /// The problem.
    public struct Code: Sendable, Hashable, CustomStringConvertible {
        private let name: String
        /// The body ended before its closing delimiter. The body is incomplete, or has a different boundary.
        public static let missingEnd = Code(name: "missingEnd")
        /// The fields of a part are longer than the limit, or a part has more than 64 fields.
        public static let headTooLong = Code(name: "headTooLong")
        /// The number of parts is larger than the limit.
        public static let tooManyParts = Code(name: "tooManyParts")
        /// A line in the head of a part is not a field.
        public static let invalidHead = Code(name: "invalidHead")
        /// On the line of a delimiter, bytes other than spaces follow the delimiter.
        public static let invalidDelimiter = Code(name: "invalidDelimiter")
        /// The media type of a body is not multipart, or has no valid boundary.
        public static let notMultipart = Code(name: "notMultipart")
        /// The content of a part was read after the next part was requested.
        public static let readAfterNextPart = Code(name: "readAfterNextPart")
        /// The media type of a part to be sent is not a valid field value.
        public static let invalidContentType = Code(name: "invalidContentType")
        /// A part to be sent contains the boundary.
        public static let boundaryInContent = Code(name: "boundaryInContent")

        /// The name of the code.
        public var description: String { name }
    }

    /// The problem.
    public let code: Code
    /// The problem, and how to solve it, in words.
    public let description: String

    package init(_ code: Code, _ description: String) { (self.code, self.description) = (code, description) }
}
