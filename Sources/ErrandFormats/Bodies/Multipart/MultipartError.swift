/// The error for a multipart body that can't be read or created.
public struct MultipartError: Error, Sendable, Hashable, CustomStringConvertible {
    /// The problem.
    public struct Reason: Sendable, Hashable, CustomStringConvertible {
        private let name: String
        /// The body ended before its closing delimiter. The body is incomplete, or has a different boundary.
        public static let missingEnd = Reason(name: "missingEnd")
        /// The fields of a part are longer than the limit, or a part has more than 64 fields.
        public static let headTooLong = Reason(name: "headTooLong")
        /// There are more parts than the limit.
        public static let tooManyParts = Reason(name: "tooManyParts")
        /// A line in the head of a part is not a field.
        public static let invalidHead = Reason(name: "invalidHead")
        /// There are bytes other than spaces after a delimiter, on its line.
        public static let invalidDelimiter = Reason(name: "invalidDelimiter")
        /// The media type of a body is not multipart, or has no valid boundary.
        public static let notMultipart = Reason(name: "notMultipart")
        /// The content of a part was read after the next part was requested.
        public static let readAfterNextPart = Reason(name: "readAfterNextPart")
        /// The media type of a part to be sent is not a valid field value.
        public static let invalidContentType = Reason(name: "invalidContentType")
        /// A part to be sent contains the boundary.
        public static let boundaryInContent = Reason(name: "boundaryInContent")

        /// The name of the reason.
        public var description: String { name }
    }

    /// The problem.
    public let reason: Reason
    /// The problem in words, and how to solve it.
    public let description: String

    package init(_ reason: Reason, _ description: String) { (self.reason, self.description) = (reason, description) }
}
