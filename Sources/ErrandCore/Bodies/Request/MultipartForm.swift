public import ErrandFormats

/// A form whose parts are texts, bytes, files and streams, in the format of browsers (`multipart/form-data`, [RFC
/// 7578](https://www.rfc-editor.org/rfc/rfc7578)).
///
/// ```swift
/// var form: MultipartForm = ["title": "Sunset", "photo": .file(url)]
/// form.append("thumbnail", .data(jpeg, fileName: "small.jpg"))
/// let request = try Request(.post, "/photos", body: .multipart(form))
/// ```
///
/// A typed call takes the form as its body: `.post("/photos", body: .multipart(form))`.
///
/// If the length of each part is known, the length of the whole body is known before any file is read. Files are read while they are
/// sent. If each part can be sent again, the body can be sent again. Quotation marks and line breaks in names are sent as `%22`, `%0D`
/// and `%0A`, as browsers do.
public struct MultipartForm: Sendable {
    /// A part of a form.
    public struct Part: Sendable {
        /// The name of the form's field. Several parts may have the same name.
        public var name: String
        /// The content of the part.
        public var content: Content
        /// Further fields of the part. `Content-Disposition` and `Content-Type` are ignored here, because ``content``
        /// determines these fields.
        public var headers: HTTPFields

        /// Creates a part.
        public init(_ name: String, _ content: Content, headers: HTTPFields = HTTPFields()) {
            (self.name, self.content, self.headers) = (name, content, headers)
        }
    }

    /// The content of a part of a form.
    public struct Content: Sendable, ExpressibleByStringInterpolation {
        private enum Source: Sendable {
            case body(RequestBody)
            case file(path: @Sendable () throws -> String)
        }

        private let source: Source
        /// The name of the file that the server gets; `nil` for a part that is not a file.
        public let fileName: String?
        /// The media type of the part. `nil`: the part has no `Content-Type` field.
        public let contentType: String?

        private init(_ source: Source, fileName: String?, contentType: String?) {
            (self.source, self.fileName, self.contentType) = (source, fileName, contentType)
        }

        /// Creates the content of a text field, in UTF-8, without a file name or a media type.
        public init(stringLiteral value: String) { self = .text(value) }

        /// Returns the content of a text field, in UTF-8.
        ///
        /// - Parameters:
        ///   - text: the text.
        ///   - fileName: the name of the file that the server gets; `nil`, the default, for a field that is not a file.
        ///   - contentType: the media type. `nil`, the default: the part has no `Content-Type` field.
        public static func text(_ text: String, fileName: String? = nil, contentType: String? = nil) -> Content {
            .body(.text(text), fileName: fileName, contentType: contentType)
        }

        /// Returns content in memory, which is sent as a file.
        ///
        /// - Parameters:
        ///   - data: the bytes.
        ///   - fileName: the name that the server gets; `nil` for a field that is not a file.
        ///   - contentType: the media type. With `nil`, the default, the extension of the file name determines the media type. If the
        ///     extension is unknown, the type is `application/octet-stream`.
        public static func data(_ data: Data, fileName: String?, contentType: String? = nil) -> Content {
            .body(.data(data), fileName: fileName, contentType: contentType ?? MediaType.essence(forFileNamed: fileName ?? ""))
        }

        /// Returns the content of a file. The file is read while the part is sent. If the file does not exist when the form
        /// becomes a body, ``MultipartForm/body()`` throws a ``FileReadError``.
        ///
        /// - Parameters:
        ///   - url: a file URL. If the length of the file changes before the file is sent, the request fails.
        ///   - fileName: the name that the server gets; `nil`, the default, means the file's own name, without its folder.
        ///   - contentType: the media type. With `nil`, the default, the extension of `fileName` determines the media type. If that
        ///     extension is unknown, the extension of the file's own name determines the type. If both extensions are unknown, the type is
        ///     `application/octet-stream`.
        public static func file(_ url: URL, fileName: String? = nil, contentType: String? = nil) -> Content {
            let own = url.lastPathComponent
            return file(name: fileName ?? own, contentType ?? MediaType.essence(forFileNamed: fileName ?? own, own)) {
                try FileReadError.path(of: url)
            }
        }

        /// Returns the content of a file. The file is read while the part is sent. See ``file(_:fileName:contentType:)``.
        public static func file(atPath path: String, fileName: String? = nil, contentType: String? = nil) -> Content {
            let own = URL(fileURLWithPath: path).lastPathComponent
            return file(name: fileName ?? own, contentType ?? MediaType.essence(forFileNamed: fileName ?? own, own)) { path }
        }

        private static func file(name: String, _ contentType: String, path: @escaping @Sendable () throws -> String) -> Content {
            Content(.file(path: path), fileName: name, contentType: contentType)
        }

        /// Returns the content of any body, such as a stream or a part of a file.
        ///
        /// - Parameters:
        ///   - body: the body. If the length of the body is not known, the length of the form is not known, and the form is sent
        ///     in chunks. If the body can be sent only once, the form can be sent only once.
        ///   - fileName: the name that the server gets; `nil`, the default, for a field that is not a file.
        ///   - contentType: the media type. `nil`, the default: the part has no `Content-Type` field.
        public static func body(_ body: RequestBody, fileName: String? = nil, contentType: String? = nil) -> Content {
            Content(.body(body), fileName: fileName, contentType: contentType)
        }

        /// - Throws: ``FileReadError``.
        fileprivate func section() throws -> BodySection {
            switch source {
            case .body(let body): return BodySection(body: body, wholeFile: nil)
            case .file(let path):
                let path = try path()
                return BodySection(body: try .file(atPath: path), wholeFile: path)
            }
        }
    }

    /// The parts, in the order in which they are sent.
    public var parts: [Part]
    /// The text that separates the parts.
    public let boundary: MultipartBoundary

    /// Creates a form without parts, with a random boundary.
    public init() { self.init([]) }

    /// Creates a form without parts, with a boundary of your own, for a body that must always have the same bytes.
    public init(boundary: MultipartBoundary) { self.init([], boundary: boundary) }

    /// Creates a form.
    ///
    /// - Parameters:
    ///   - parts: the parts in order.
    ///   - boundary: the boundary. Default: a random boundary.
    public init(_ parts: [Part], boundary: MultipartBoundary = .random()) { (self.parts, self.boundary) = (parts, boundary) }

    /// Adds a part at the end.
    public mutating func append(_ name: String, _ content: Content, headers: HTTPFields = HTTPFields()) {
        parts.append(Part(name, content, headers: headers))
    }

    /// The value of `Content-Type`, including the boundary, for a request with this form.
    public var contentType: String { boundary.contentType }

    /// Returns the body of a request. If the request has no `Content-Type`, the request takes ``contentType``. With another
    /// `Content-Type`, no server can read the body.
    ///
    /// If all parts are in memory and the form has at most 1 MiB, the body is bytes in memory. The body of any other form is a stream,
    /// which keeps at most 128 KiB of a file in memory.
    ///
    /// - Throws: ``FileReadError`` for a missing or unreadable file; ``/ErrandFormats/MultipartError`` if a media type is empty or has a
    ///   control character, or if bytes in memory contain the boundary.
    public func body() throws -> RequestBody {
        let writer = MultipartWriter(boundary: boundary)
        var sections: [BodySection] = []
        for (index, part) in parts.enumerated() {
            let content = try part.content.section()
            if let data = content.body.bufferedData, data.withUnsafeBytes({ writer.isDelimiter(in: $0) }) {
                throw MultipartError(
                    .boundaryInContent, "the part \(index + 1) of the form contains the boundary; use a random boundary (the default)")
            }
            let start = try writer.start(
                isFirst: index == 0, name: part.name, fileName: part.content.fileName, contentType: part.content.contentType,
                fields: part.headers)
            sections += [BodySection(body: .data(Data(start)), wholeFile: nil), content]
        }
        sections.append(BodySection(body: .data(Data(writer.end(isEmpty: parts.isEmpty))), wholeFile: nil))
        return RequestBody.sections(sections).typed(as: contentType)
    }
}

extension MultipartForm: ExpressibleByDictionaryLiteral {
    /// Creates a form with the parts of a literal, in the order of the literal.
    public init(dictionaryLiteral elements: (String, Content)...) { self.init(elements.map { Part($0.0, $0.1) }) }
}

extension MultipartForm: CustomStringConvertible, HidesStorage {
    /// The names of the parts, never their contents.
    public var description: String {
        "multipart form: " + parts.map { $0.name.shownSafely(limit: 100) }.joined(separator: ", ")
    }
}

extension MultipartForm.Content: CustomStringConvertible, HidesStorage {
    /// The name of the file and the media type, never the content.
    public var description: String {
        "content" + [fileName, contentType].compactMap { $0 }.map { ", " + $0.shownSafely(limit: 100) }.joined()
    }
}

extension RequestBody {
    /// Returns the body of a multipart form. The request must have the form's ``MultipartForm/contentType``. See ``MultipartForm``.
    ///
    /// - Throws: the errors of ``MultipartForm/body()``.
    public static func multipart(_ form: MultipartForm) throws -> RequestBody { try form.body() }
}
