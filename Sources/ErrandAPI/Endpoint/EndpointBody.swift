public import ErrandCore
public import ErrandFormats

/// The body of a call: a value as JSON, a form, bytes, a file, a stream, or nothing.
///
/// A body sets its own `Content-Type`, unless the headers of the call have this field. For a form with parts, the field in the headers must
/// have the boundary of the form. With another boundary, building the request throws a ``RequestEncodingError``.
public struct EndpointBody: Sendable {
    private let make: @Sendable (JSONCoding) throws -> RequestBody
    let contentType: String?
    /// The boundary that the `Content-Type` must have; `nil` if no boundary is needed.
    private(set) var boundary: String?
    /// The type of the encoded value; `nil` for bytes.
    private let type: (any (Encodable & Sendable).Type)?

    private init(
        contentType: String?, of type: (any (Encodable & Sendable).Type)? = nil,
        _ make: @escaping @Sendable (JSONCoding) throws -> RequestBody
    ) {
        (self.contentType, self.type, self.make) = (contentType, type, make)
    }

    /// The name of the type of the encoded value.
    var typeName: String? { type.map { ErrandCore.typeName($0) } }

    /// No body.
    public static let none = EndpointBody(contentType: nil) { _ in .empty }

    /// Returns a body with JSON that is written as a literal: `.json(["name": "Ada", "age": 36, "tags": ["x"]])`.
    ///
    /// In a literal with values of several types, write ``/ErrandFormats/JSONValue`` around each variable:
    /// `.json(["name": JSONValue(name), "age": 36])`.
    ///
    /// - Parameters:
    ///   - value: any JSON.
    ///   - coding: the rules for encoding. Default: `nil`, which means the client's ``/ErrandCore/JSONCoding``.
    ///   - contentType: the value of the field `Content-Type`. Default: `application/json`.
    public static func json(
        _ value: JSONValue, coding: JSONCoding? = nil, contentType: String = "application/json"
    ) -> EndpointBody {
        EndpointBody(contentType: contentType, of: JSONValue.self) { .data(try (coding ?? $0).encode(value)) }
    }

    /// Returns a body with a value as JSON. For JSON without a type, see ``json(_:coding:contentType:)-(JSONValue,_,_)``.
    ///
    /// - Parameters:
    ///   - value: the value.
    ///   - coding: the rules for encoding. Default: `nil`, which means the client's ``/ErrandCore/JSONCoding``.
    ///   - contentType: the value of the field `Content-Type`. Default: `application/json`.
    public static func json(
        _ value: some Encodable & Sendable, coding: JSONCoding? = nil, contentType: String = "application/json"
    ) -> EndpointBody {
        EndpointBody(contentType: contentType, of: Swift.type(of: value)) { .data(try (coding ?? $0).encode(value)) }
    }

    /// Returns a merge patch ([RFC 7396](https://www.rfc-editor.org/rfc/rfc7396)), with the type `application/merge-patch+json`. The
    /// patch has the members to change, and `null` for each member to remove.
    ///
    /// ```swift
    /// try await client.patch("/users/7", body: .mergePatch(["name": "Ada", "nickname": nil]))
    /// ```
    public static func mergePatch(_ patch: JSONValue) -> EndpointBody { .json(patch, contentType: "application/merge-patch+json") }

    /// Returns a form of names and values (`application/x-www-form-urlencoded`), in the order of the literal:
    /// `.form(["a": "1", "b": "2"])`.
    public static func form(_ pairs: KeyValuePairs<String, String>) -> EndpointBody {
        form(pairs: pairs.map { (name: $0.key, value: $0.value) })
    }

    /// Returns a form of names and values (`application/x-www-form-urlencoded`), sorted by name.
    @_disfavoredOverload
    public static func form(_ fields: [String: String]) -> EndpointBody {
        let text = FormURLEncoded.encode(fields)
        return EndpointBody(contentType: FormURLEncoded.mediaType) { _ in .text(text) }
    }

    /// Returns a form of the members of a value (`application/x-www-form-urlencoded`), in the order in which the members are encoded.
    ///
    /// ```swift
    /// struct Login: Encodable { var user: String; var remember: Bool }
    /// try await client.post("/login", body: .form(Login(user: "joe", remember: true)))     // user=joe&remember=true
    /// ```
    ///
    /// The client's ``/ErrandCore/JSONCoding`` determines how property names, dates and data are written. The value must have named
    /// members that are not nested: see `FormURLEncoded.encode(_:)`. For any other value, building the request throws a
    /// ``RequestEncodingError``.
    ///
    /// - Parameters:
    ///   - value: a structure or a dictionary whose members are plain values or arrays of plain values.
    ///   - arrays: the style of arrays. Default: the name is repeated for each element.
    ///   - bools: the style of Boolean values. Default: `true` or `false`.
    ///   - nils: the style of members that are `nil`. Default: these members are omitted.
    @_disfavoredOverload
    public static func form(
        _ value: some Encodable & Sendable, arrays: URLQuery.ArrayStyle = .repeated, bools: FormURLEncoded.BoolStyle = .words,
        nils: FormURLEncoded.NilStyle = .omitted
    ) -> EndpointBody {
        EndpointBody(contentType: FormURLEncoded.mediaType, of: Swift.type(of: value)) {
            .text(try FormURLEncoded.encode(value, arrays: arrays, bools: bools, nils: nils, coding: $0))
        }
    }

    private static func form(pairs: [(name: String, value: String)]) -> EndpointBody {
        let text = FormURLEncoded.encode(pairs)
        return EndpointBody(contentType: FormURLEncoded.mediaType) { _ in .text(text) }
    }

    /// Returns a form whose parts are texts, bytes, files and streams (`multipart/form-data`):
    /// `.multipart(["title": "Sunset", "photo": .file(url)])`.
    ///
    /// Building the request opens the files, and throws a ``/ErrandCore/FileReadError`` if a file is missing. See
    /// ``/ErrandCore/MultipartForm``.
    public static func multipart(_ form: MultipartForm) -> EndpointBody {
        var body = EndpointBody(contentType: form.contentType) { _ in try form.body() }
        body.boundary = form.boundary.text
        return body
    }

    /// The format of a property list.
    public enum PropertyListFormat: Sendable, Hashable {
        /// Text in XML.
        case xml
        /// Apple's binary format, which is shorter than XML.
        case binary
    }

    /// Returns a value as a property list, written by Foundation's `PropertyListEncoder`, with the type `application/x-plist`.
    ///
    /// - Parameters:
    ///   - value: an array, a dictionary, or a value that is encoded as an array or a dictionary.
    ///   - format: the format of the property list. Default: XML.
    public static func propertyList(
        _ value: some Encodable & Sendable, format: PropertyListFormat = .xml
    ) -> EndpointBody {
        EndpointBody(contentType: PropertyListCoding.mediaType, of: Swift.type(of: value)) { _ in
            .data(try PropertyListCoding.encode(value, format: format))
        }
    }

    /// Returns a body with a text, as UTF-8.
    public static func text(_ text: String, contentType: String = "text/plain; charset=utf-8") -> EndpointBody {
        EndpointBody(contentType: contentType) { _ in .text(text) }
    }

    /// Returns a body with bytes.
    public static func data(_ data: Data, contentType: String = "application/octet-stream") -> EndpointBody {
        EndpointBody(contentType: contentType) { _ in .data(data) }
    }

    /// Returns a body that is a file. The file is read while the body is sent. Building the request opens the file, and throws
    /// a ``/ErrandCore/FileReadError`` if the file is missing or `url` is not a file URL.
    public static func file(_ url: URL, contentType: String = "application/octet-stream") -> EndpointBody {
        EndpointBody(contentType: contentType) { _ in try .file(url) }
    }

    /// Returns a body from the given ``/ErrandCore/RequestBody``, such as a stream.
    ///
    /// - Parameter contentType: the value of the field `Content-Type`. `nil`, the default, uses the media type of `body`, if `body`
    ///   has a type.
    public static func raw(_ body: RequestBody, contentType: String? = nil) -> EndpointBody {
        EndpointBody(contentType: contentType) { _ in body }
    }

    /// - Throws: `EncodingError`, or the errors of opening a file.
    func requestBody(_ coding: JSONCoding) throws -> RequestBody { try make(coding) }

    /// Returns a copy of this body that reports its progress.
    func reportingProgress(_ progress: @escaping @Sendable (TransferProgress) -> Void) -> EndpointBody {
        let base = self
        var body = EndpointBody(contentType: contentType, of: type) { try base.requestBody($0).reportingProgress(progress) }
        body.boundary = boundary
        return body
    }
}
