internal import ErrandCore
internal import ErrandFormats

/// The head of a response for the caller. If the session decodes the body, the head has no fields of the encoded body.
struct ReceivedHead: Sendable {
    var head: HTTPResponse
    /// The fields of the encoded body, which the head no longer has.
    let encodedFields: HTTPFields
    /// The codings that the session decodes, in the order of `Content-Encoding`; `nil` if the session decodes nothing.
    let contentCoding: String?
    /// The number of bytes that a reader may expect; `nil` if the number is not known.
    let expectedLength: Int64?
    /// The number of bytes that the session must return; `nil` if the number is not known, as for a decoded body.
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
        // Several lengths do not give a number, even if they are equal. A transfer coding overrides the length (RFC 9112, 6.3).
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
