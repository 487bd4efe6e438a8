public import ErrandFormats

/// A form whose parts are texts, bytes, files and streams, as browsers send it (`multipart/form-data`,
/// [RFC 7578](https://www.rfc-editor.org/rfc/rfc7578)).
///
/// ```swift
/// var form: MultipartForm = ["title": "Sunset", "photo": .file(url)]
/// form.append("thumbnail", .data(jpeg, fileName: "small.jpg"))
/// let request = try Request(.post, "/photos", headers: [.contentType: form.contentType], body: form.body())
/// ```
///
/// A typed call takes it as its body: `.post("/photos", body: .multipart(form))`.
///
/// The length of the whole body is known before any file is read, if that of each part is. Files are read while they are sent. The body can be sent
/// again if each part can. Quotation marks and line breaks in names are sent as `%22`, `%0D` and `%0A`, as browsers do.
public struct MultipartForm: Sendable {
    /// A part of a form.
    public struct Part: Sendable {
        /// The name of the form's field. Several parts may have the same name.
        public var name: String
        /// What is sent.
        public var content: Content
        /// Further fields of the part. `Content-Disposition` and `Content-Type` are left out: the content has them.
        public var headers: HTTPFields

        /// Creates a part.
        public init(_ name: String, _ content: Content, headers: HTTPFields = HTTPFields()) {
            (self.name, self.content, self.headers) = (name, content, headers)
        }
    }

    /// What a part of a form sends.
    public struct Content: Sendable, ExpressibleByStringInterpolation {
        private enum Source: Sendable {
            case body(RequestBody)
            case file(path: @Sendable () throws -> String)
        }

        private let source: Source
        /// The name of the file that the server gets; `nil` for a part that is not a file.
        public let fileName: String?
        /// The media type of the part; `nil` leaves it out.
        public let contentType: String?

        private init(_ source: Source, fileName: String?, contentType: String?) {
            (self.source, self.fileName, self.contentType) = (source, fileName, contentType)
        }

        /// A text, in UTF-8, without a file's name and a media type.
        public init(stringLiteral value: String) { self = .text(value) }

        /// A text, in UTF-8.
        ///
        /// - Parameters:
        ///   - text: the text.
        ///   - fileName: `nil`, the default, for a field that is not a file.
        ///   - contentType: `nil`, the default, leaves it out.
        public static func text(_ text: String, fileName: String? = nil, contentType: String? = nil) -> Content {
            .body(.text(text), fileName: fileName, contentType: contentType)
        }

        /// Bytes, sent as a file.
        ///
        /// - Parameters:
        ///   - data: the bytes.
        ///   - fileName: the name that the server gets; `nil` for a field that is not a file.
        ///   - contentType: `nil`, the default: that of the extension of `fileName`, or `application/octet-stream`.
        public static func data(_ data: Data, fileName: String?, contentType: String? = nil) -> Content {
            .body(.data(data), fileName: fileName, contentType: contentType ?? MediaType.essence(forFileNamed: fileName ?? ""))
        }

        /// A file, read while it is sent. It is looked at when the form becomes a body, which throws a ``FileReadError`` if it is not there.
        ///
        /// - Parameters:
        ///   - url: a file URL. If the length of the file changes before it is sent, the request fails.
        ///   - fileName: the name that the server gets; `nil`, the default, for its own, without its folder.
        ///   - contentType: `nil`, the default: that of the extension of `fileName`, or else of the file's own name, or
        ///     `application/octet-stream`.
        public static func file(_ url: URL, fileName: String? = nil, contentType: String? = nil) -> Content {
            let own = url.lastPathComponent
            return file(name: fileName ?? own, contentType ?? MediaType.essence(forFileNamed: fileName ?? own, own)) {
                try FileReadError.path(of: url)
            }
        }

        /// A file, read while it is sent. See ``file(_:fileName:contentType:)``.
        public static func file(atPath path: String, fileName: String? = nil, contentType: String? = nil) -> Content {
            let own = URL(fileURLWithPath: path).lastPathComponent
            return file(name: fileName ?? own, contentType ?? MediaType.essence(forFileNamed: fileName ?? own, own)) { path }
        }

        private static func file(name: String, _ contentType: String, path: @escaping @Sendable () throws -> String) -> Content {
            Content(.file(path: path), fileName: name, contentType: contentType)
        }

        /// Any body, such as a stream or a part of a file.
        ///
        /// - Parameters:
        ///   - body: if its length is not known, neither is that of the form, which is then sent in chunks. If it can be sent once only, so can
        ///     the form.
        ///   - fileName: the name that the server gets; `nil`, the default, for a field that is not a file.
        ///   - contentType: `nil`, the default, leaves it out.
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

    /// Creates a form without parts, with a boundary of your own, for bodies that must always have the same bytes.
    public init(boundary: MultipartBoundary) { self.init([], boundary: boundary) }

    /// Creates a form.
    ///
    /// - Parameters:
    ///   - parts: the parts in order.
    ///   - boundary: a random one by default.
    public init(_ parts: [Part], boundary: MultipartBoundary = .random()) { (self.parts, self.boundary) = (parts, boundary) }

    /// Adds a part at the end.
    public mutating func append(_ name: String, _ content: Content, headers: HTTPFields = HTTPFields()) {
        parts.append(Part(name, content, headers: headers))
    }

    /// Write `append(name, .text(value))`.
    @available(*, unavailable, message: "write append(name, .text(value))")
    public mutating func append(_ name: String, _ text: String) { append(name, .text(text)) }

    /// The value of `Content-Type` for a request with this form, with the boundary.
    public var contentType: String { boundary.contentType }

    /// Returns the body of a request. Send it with ``contentType``: no server can read it with another `Content-Type`.
    ///
    /// A form in memory of at most 1 MiB is bytes in memory. Any other is a stream, which keeps at most 128 KiB of a file in memory.
    ///
    /// - Throws: ``FileReadError`` for a file that is not there; ``/ErrandFormats/MultipartError`` for a media type with a line break, and if bytes in
    ///   memory contain the boundary.
    public func body() throws -> RequestBody {
        let writer = MultipartWriter(boundary: boundary)
        var sections: [BodySection] = []
        for (index, part) in parts.enumerated() {
            let content = try part.content.section()
            if let data = content.body.bufferedData, data.withUnsafeBytes({ writer.isDelimiter(in: $0) }) {
                throw MultipartError(
                    .boundaryInContent, "the part \(index + 1) of the form contains the boundary; use a random one, which is the default")
            }
            let start = try writer.start(
                isFirst: index == 0, name: part.name, fileName: part.content.fileName, contentType: part.content.contentType,
                fields: part.headers)
            sections += [BodySection(body: .data(Data(start)), wholeFile: nil), content]
        }
        sections.append(BodySection(body: .data(Data(writer.end(isEmpty: parts.isEmpty))), wholeFile: nil))
        return .sections(sections)
    }
}

extension MultipartForm: ExpressibleByDictionaryLiteral {
    /// The parts of a literal, in its order.
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
    /// Returns the body of a form in parts. See ``MultipartForm``, whose ``MultipartForm/contentType`` the request needs.
    ///
    /// - Throws: what ``MultipartForm/body()`` throws.
    public static func multipart(_ form: MultipartForm) throws -> RequestBody { try form.body() }
}

extension MultipartError: LocalizedError {
    /// The description, as a sentence.
    public var errorDescription: String? { description.asSentence }
}

extension MultipartError: SafelyDescribedError {}
