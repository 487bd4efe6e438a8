public import ErrandCore
internal import ErrandFormats

/// What a call sends: a value as JSON, a form, bytes, a file, a stream, or nothing.
///
/// It names its own `Content-Type`; one that the call's headers name counts instead.
public struct EndpointBody: Sendable {
    private let make: @Sendable (JSONCoding) throws -> RequestBody
    let contentType: String?

    private init(contentType: String?, _ make: @escaping @Sendable (JSONCoding) throws -> RequestBody) {
        (self.contentType, self.make) = (contentType, make)
    }

    /// Nothing.
    public static let none = EndpointBody(contentType: nil) { _ in .empty }

    /// A value, by the client's ``JSONCoding``.
    public static func json(_ value: some Encodable & Sendable) -> EndpointBody {
        EndpointBody(contentType: "application/json") { .data(try $0.encode(value)) }
    }

    /// Names and values as a form sends them (`application/x-www-form-urlencoded`), in order.
    public static func form(_ pairs: KeyValuePairs<String, String>) -> EndpointBody {
        let text = FormURLEncoded.encode(pairs.map { (name: $0.key, value: $0.value) })
        return EndpointBody(contentType: FormURLEncoded.mediaType) { _ in .text(text) }
    }

    /// Text, as UTF-8.
    public static func text(_ text: String, contentType: String = "text/plain; charset=utf-8") -> EndpointBody {
        EndpointBody(contentType: contentType) { _ in .text(text) }
    }

    public static func data(_ data: Data, contentType: String = "application/octet-stream") -> EndpointBody {
        EndpointBody(contentType: contentType) { _ in .data(data) }
    }

    /// A file, read while it is sent; opened when the request is built.
    public static func file(_ url: URL, contentType: String = "application/octet-stream") -> EndpointBody {
        EndpointBody(contentType: contentType) { _ in try .file(url) }
    }

    /// Any body, such as a stream.
    public static func raw(_ body: RequestBody, contentType: String? = nil) -> EndpointBody {
        EndpointBody(contentType: contentType) { _ in body }
    }

    /// - Throws: `EncodingError`, or what opening a file throws.
    func requestBody(_ coding: JSONCoding) throws -> RequestBody { try make(coding) }
}
