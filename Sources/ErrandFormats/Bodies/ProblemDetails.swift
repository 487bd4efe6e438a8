/// An error that a server describes as `application/problem+json` ([RFC 9457](https://www.rfc-editor.org/rfc/rfc9457)).
///
/// ```swift
/// } catch let error as StatusError {
///     print(error.problem?.title ?? "no problem details")
/// }
/// ```
///
/// Members of the wrong type are ignored ([RFC 9457, section 3.1](https://www.rfc-editor.org/rfc/rfc9457#section-3.1)). Members other
/// than the five standard members are in ``extensions``. To read the extensions as your own types, decode the body of the response a
/// second time.
public struct ProblemDetails: Sendable, Hashable, Decodable, CustomStringConvertible {
    /// The media type of problem details.
    public static let mediaType = "application/problem+json"

    /// A URI reference that identifies the kind of problem. `about:blank`, the default, means that the status alone describes the
    /// problem.
    public let type: String
    /// A short text that is the same for all problems with this ``type``; `nil` if the member is missing.
    public let title: String?
    /// The status that the body contains; `nil` if the member is missing. The status of the response takes precedence over this
    /// status.
    public let status: Int?
    /// The description of this occurrence of the problem; `nil` if the member is missing.
    public let detail: String?
    /// A URI reference that identifies this occurrence of the problem; `nil` if the member is missing.
    public let instance: String?
    /// All other members.
    public let extensions: [String: JSONValue]

    /// Reads the body of a response, in linear time. The depth is limited by ``JSONValue/depthLimit``.
    ///
    /// - Throws: an error unless `bytes` are exactly one JSON object.
    package init(parsing bytes: some Sequence<UInt8>) throws {
        guard case .object(let members) = try JSONValue(parsing: bytes) else { throw JSONParsingError(message: "not an object", offset: 0) }
        self.init(members)
    }

    /// Decodes problem details from a JSON object.
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
        if case .number(let number) = members.removeValue(forKey: "status"), let whole = number.intValue, (100...599).contains(whole) {
            status = whole
        } else {
            status = nil
        }
        extensions = members
    }

    /// The title and the type. The detail is left out, because it may contain secrets.
    public var description: String { [title, type.isExactly("about:blank") ? nil : type].compactMap { $0 }.joined(separator: " ") }
}

extension ProblemDetails: CustomReflectable {
    /// The ``description``. Mirrors and `dump` show no other member, because the other members may contain secrets.
    public var customMirror: Mirror { Mirror(self, children: ["description": description]) }
}
