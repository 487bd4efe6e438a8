internal import ErrandCore
internal import ErrandFormats

/// The head of a response for the caller. If the session decodes the body, the head has no fields of the encoded body.
struct ReceivedHead: Sendable {
    var head: HTTPResponse
    /// The fields about the encoded body, which were removed from the head.
    let encodedFields: HTTPFields
    /// The codings that the session decodes, in the order of `Content-Encoding`; `nil` if the session decodes nothing.
    let contentCoding: String?
    /// The length of the body that the caller reads; `nil` if the length is not known, as for a body that the session decodes.
    let expectedLength: Int64?
    /// The declared length of a body without a content coding, for finding a truncated body. `nil`: the length is not known, or the body
    /// has a coding. 0: the response has no body, or its body is empty.
    let wireLength: Int64?

    var isDecoded: Bool { contentCoding != nil }

    /// The codings that every `URLSession` decodes. On Linux, the session decodes further codings if the system's curl supports
    /// these codings.
    static let decodedCodings: [String] = ["gzip", "x-gzip", "deflate", "br"]

    /// Creates the head for a caller from the head that the session has reported.
    ///
    /// - Parameters:
    ///   - method: the method of the request. The response to HEAD has no body.
    ///   - codings: the codings that the session decodes.
    init(_ head: HTTPResponse, to method: HTTPRequest.Method, decoding codings: [String] = decodedCodings) {
        var head = head
        let status = head.status.code
        let hasBody = method.responseHasBody(status: status)
        let lengths = head.headerFields[values: .contentLength]
        // If `Content-Length` occurs several times, the length is unknown, even if the values are equal. A transfer coding overrides the
        // length (RFC 9112, 6.3).
        let isFramed = head.headerFields.contains(.transferEncoding)
        let declared = (lengths.count == 1 && !isFramed ? lengths.first.flatMap { Int64($0) } : nil).flatMap { $0 >= 0 ? $0 : nil }
        let named = head.headerFields[values: .contentEncoding].flatMap(\.listMembers).filter { !$0.isExactlyIgnoringCase("identity") }
        let isDecoded =
            hasBody && declared != 0 && !named.isEmpty
            && named.allSatisfy { name in codings.contains { name.isExactlyIgnoringCase($0) } }
        encodedFields = isDecoded ? head.removeEncodedFields() : [:]
        self.head = head
        contentCoding = isDecoded ? named.map { $0.lowercased() }.joined(separator: ", ") : nil
        expectedLength = isDecoded ? nil : method.expectedResponseLength(status: status, declared: declared)
        wireLength = hasBody ? (named.isEmpty ? declared : nil) : 0
    }
}
