/// An error that a server describes as `application/problem+json` (RFC 9457).
///
/// Members of the wrong type are passed over (RFC 9457, 3.1). Members beyond the five are in ``extensions``, and whoever knows
/// their types decodes a type of their own from the same bytes.
public struct ProblemDetails: Sendable, Hashable, Decodable, CustomStringConvertible {
    /// The media type that announces it.
    public static let mediaType = "application/problem+json"

    /// A URI reference that names the kind of problem; `about:blank` (the default) says no more than the status.
    public let type: String
    /// A short text that is the same for each problem of this kind; nil if there was none.
    public let title: String?
    /// What the server believes the status to be; the response's own counts. Nil if there was none.
    public let status: Int?
    /// What happened this time; nil if there was none.
    public let detail: String?
    /// A URI reference that names this occurrence; nil if there was none.
    public let instance: String?
    /// All other members.
    public let extensions: [String: JSONValue]

    /// Reads the body of a response, in time that is linear in its bytes. The work and the depth (``JSONValue/depthLimit``) are bounded, whatever the
    /// bytes are.
    ///
    /// - Throws: an error if `bytes` are not one JSON object.
    package init(parsing bytes: some Sequence<UInt8>) throws {
        guard case .object(let members) = try JSONValue(parsing: bytes) else { throw JSONError(message: "not an object", offset: 0) }
        self.init(members)
    }

    public init(from decoder: any Decoder) throws { self.init(try [String: JSONValue](from: decoder)) }

    private init(_ members: [String: JSONValue]) {
        var members = members
        func text(_ name: String) -> String? {
            guard case .string(let text) = members.removeValue(forKey: name) else { return nil }
            return text
        }
        type = text("type") ?? "about:blank"
        title = text("title")
        detail = text("detail")
        instance = text("instance")
        if case .number(let number) = members.removeValue(forKey: "status"), let whole = Int(exactly: number), (100...599).contains(whole) {
            status = whole
        } else {
            status = nil
        }
        extensions = members
    }

    /// Title and type; the detail may hold anything, and stays out of messages.
    public var description: String { [title, type == "about:blank" ? nil : type].compactMap { $0 }.joined(separator: " ") }
}
