public import ErrandCore
internal import ErrandFormats

/// A conversion of the body of a response to a value.
///
/// A thrown `DecodingError` becomes a ``ResponseDecodingError``. Any other error, such as an error of the app, reaches the caller
/// unchanged:
///
/// ```swift
/// struct NoTable: Error {}
///
/// extension ResponseDecoding where Output == [[String]] {
///     /// Lines of values, separated by tabs.
///     static var tabSeparated: Self {
///         ResponseDecoding(accept: "text/tab-separated-values") { data, _, _ in
///             guard let text = String(data: data, encoding: .utf8) else { throw NoTable() }
///             return text.split(separator: "\n").map { $0.components(separatedBy: "\t") }
///         }
///     }
/// }
///
/// let table = try await client.value(Endpoint(.get, "/table", decoding: .tabSeparated))
/// ```
public struct ResponseDecoding<Output: Sendable>: Sendable {
    /// The value of the field `Accept` for requests without this field; `nil` adds no field.
    public let accept: String?
    /// Whether the output needs the body. If the body is not needed, at most 64 KiB of it are read. For a client with an envelope, see
    /// `wantsBody(in:)`.
    let wantsBody: Bool
    private let make: @Sendable (Data, HTTPResponse, JSONCoding) throws -> Output
    /// Decodes a value from a body in the client's envelope; `nil` for a decoding without an envelope.
    private var unwrap: Unwrapping?
    typealias Unwrapping = @Sendable (Data, HTTPResponse, JSONCoding, any ResponseEnvelope.Type, _ isWhole: Bool) throws -> Output
    /// Whether the output itself has the members of the envelope.
    private var includesEnvelope = false
    /// The JSON coding of this decoding; `nil` if the coding of the client applies.
    private(set) var coding: JSONCoding?

    /// Whether the envelope of the client is ignored. If true, the bodies of refused responses are also read without an envelope.
    private(set) var ignoresEnvelope = false

    /// Creates your own decoding, for example for XML.
    ///
    /// - Parameters:
    ///   - accept: the value of the field `Accept` for requests without this field. Default: `nil`, which adds no field.
    ///   - decode: a closure that returns the value. The arguments are the body, the head of the response and the client's JSON coding. A
    ///     `DecodingError` becomes a ``ResponseDecodingError``; any other error reaches the caller unchanged.
    public init(accept: String? = nil, _ decode: @escaping @Sendable (Data, HTTPResponse, JSONCoding) throws -> Output) {
        self.init(accept: accept, wantsBody: true, decode)
    }

    init(
        accept: String?, wantsBody: Bool, _ make: @escaping @Sendable (Data, HTTPResponse, JSONCoding) throws -> Output,
        unwrap: Unwrapping? = nil
    ) {
        self.accept = accept
        self.wantsBody = wantsBody
        self.make = make
        self.unwrap = unwrap
    }

    /// Returns whether the body is read. With an envelope, the body of a call without an output is also read, because the body may contain
    /// an error.
    func wantsBody(in envelope: (any ResponseEnvelope.Type)?) -> Bool { wantsBody || (envelope != nil && unwrap != nil) }

    func value(from data: Data, head: HTTPResponse, json: JSONCoding, in envelope: (any ResponseEnvelope.Type)? = nil) throws -> Output {
        guard let envelope, let unwrap else { return try make(data, head, json) }
        return try unwrap(data, head, json, envelope, includesEnvelope)
    }

    /// This decoding, for bodies without the client's ``ResponseEnvelope``, such as the bodies of a health check or of another server.
    /// The bodies of refused responses are also read without an envelope.
    ///
    /// ```swift
    /// let health = Endpoint<Health>(.get, "/health", decoding: .json.withoutEnvelope)
    /// ```
    public var withoutEnvelope: ResponseDecoding {
        var copy = self
        copy.unwrap = nil
        copy.ignoresEnvelope = true
        return copy
    }

    /// Returns this decoding with the envelope and the coding of `other`.
    func withSettings<Other>(of other: ResponseDecoding<Other>) -> ResponseDecoding {
        var copy = self
        copy.ignoresEnvelope = other.ignoresEnvelope
        copy.includesEnvelope = other.includesEnvelope
        copy.coding = other.coding
        if other.ignoresEnvelope { copy.unwrap = nil }
        return copy
    }

    /// This decoding, for an output that has members of the client's ``ResponseEnvelope`` besides the data, such as the cursor of the next
    /// page.
    ///
    /// ```swift
    /// nonisolated struct OrderList: Decodable, Sendable { var data: [Order]; var nextCursor: String? }
    ///
    /// // {"code": 0, "data": [{"id": 1}], "nextCursor": "c2"}
    /// let list = Endpoint<OrderList>(.get, "/orders", decoding: .json.includingEnvelope)
    /// ```
    ///
    /// If the envelope describes an error, the call fails with the ``/ErrandCore/ServiceError``. This property has an effect only for JSON
    /// with an envelope.
    public var includingEnvelope: ResponseDecoding {
        var copy = self
        copy.includesEnvelope = true
        return copy
    }

    /// Returns a decoding that converts the value of this decoding.
    ///
    /// ```swift
    /// let names = ResponseDecoding<[User]>.json.map { $0.map(\.name) }
    /// ```
    ///
    /// - Parameter transform: a closure that runs after the decoding, as a part of the call. An error of the closure fails the call and
    ///   reaches the caller unchanged; a `DecodingError` becomes a ``ResponseDecodingError``.
    public func map<Value: Sendable>(_ transform: @escaping @Sendable (Output) throws -> Value) -> ResponseDecoding<Value> {
        let (make, unwrap) = (make, unwrap)
        var copy = ResponseDecoding<Value>(accept: accept, wantsBody: wantsBody) { data, head, json in
            try transform(try make(data, head, json))
        }
        copy = copy.withSettings(of: self)
        if let unwrap {
            copy.unwrap = { data, head, json, envelope, isWhole in try transform(try unwrap(data, head, json, envelope, isWhole)) }
        }
        return copy
    }
}

extension ResponseDecoding where Output: Decodable {
    /// JSON, decoded with the client's ``/ErrandCore/JSONCoding``. An optional output is `nil` if the body is empty, for
    /// example after the status 204 or 205.
    ///
    /// The output `Data` is the body itself. The output `String` is the text of the body, in the `charset` of its
    /// `Content-Type`: UTF-8, ISO-8859-1, windows-1252 or UTF-16. With another `charset`, the text is read as UTF-8. Invalid
    /// bytes become U+FFFD. With a ``ResponseEnvelope``, the output `String` is the text in the envelope.
    public static var json: Self {
        // `Data` and `String` are also `Decodable`, but a caller with these outputs does not expect base64 or a quoted text.
        if Output.self == Data.self {
            return Self(
                accept: nil, wantsBody: true, { data, _, _ in try cast(data) },
                unwrap: { data, head, json, envelope, _ in
                    if let failure = EnvelopeReader.failure(inOutput: data, head, envelope, json) { throw failure }
                    return try cast(data)
                })
        }
        let isText = Output.self == String.self
        return Self(
            accept: isText ? nil : "application/json", wantsBody: true,
            { data, head, json in
                isText ? try cast(head.text(of: data)) : try empty(data) ?? json.decode(Output.self, from: data)
            },
            unwrap: { data, _, json, envelope, isWhole in
                try empty(data) ?? envelope.unwrapped(Output.self, from: data, json, isWhole: isWhole)
            })
    }

    /// Returns a decoding of JSON that uses the given coding instead of the client's coding. Use this decoding for an endpoint whose dates
    /// or names have another form.
    ///
    /// ```swift
    /// Endpoint<Audit>(.get, "/audit", decoding: .json(coding: JSONCoding(dates: .secondsSince1970)))
    /// ```
    public static func json(coding: JSONCoding) -> Self {
        var decoding = json
        decoding.coding = coding
        return decoding
    }

    /// A property list in XML or binary, read by Foundation's `PropertyListDecoder`. An optional output is `nil` if the body is empty.
    /// Property lists have no ``ResponseEnvelope``.
    ///
    /// The decoding throws a ``ResponseDecodingError`` for:
    ///
    /// - more than 128 levels;
    /// - XML that is not UTF-8;
    /// - a binary list that refers twice to one array or dictionary;
    /// - a binary list whose objects, counted once for each reference, exceed 64 MiB, or exceed both 1 MiB and 100 times the list's
    ///   size;
    /// - a name of more than 256 bytes that is not ASCII;
    /// - a date whose year does not have four digits.
    public static var propertyList: Self {
        Self(accept: PropertyListCoding.mediaType) { data, _, _ in try empty(data) ?? PropertyListCoding.decode(Output.self, from: data) }
    }

    /// A form of names and values (`application/x-www-form-urlencoded`), read by `FormURLEncoded.decode(_:from:coding:)` with the client's
    /// ``/ErrandCore/JSONCoding``. An optional output is `nil` if the body is empty. Forms have no ``ResponseEnvelope``.
    ///
    /// ```swift
    /// let token = try await client.value(Endpoint<Token>(.post, "/token", body: .form(["code": code]), decoding: .form))
    /// ```
    public static var form: Self {
        Self(accept: FormURLEncoded.mediaType) { data, _, coding in
            try empty(data) ?? FormURLEncoded.decode(Output.self, from: data, coding: coding)
        }
    }

    /// If the body is empty and the output is an optional, returns the output `nil`. For any other body or output, there is no result.
    private static func empty(_ data: Data) throws -> Output? {
        guard data.isEmpty, let optional = Output.self as? any ExpressibleByNilLiteral.Type else { return nil }
        let none: Output = try cast(optional.init(nilLiteral: ()))
        return .some(none)
    }

    private static func cast(_ value: Any) throws -> Output {
        guard let output = value as? Output else {
            throw DecodingError.typeMismatch(Output.self, .init(codingPath: [], debugDescription: "a \(type(of: value)) was made"))
        }
        return output
    }
}

extension ResponseDecoding where Output == Void {
    /// A decoding without a value. The body is not needed.
    public static var none: Self {
        Self(
            accept: nil, wantsBody: false, { _, _, _ in },
            unwrap: { data, _, json, envelope, _ in
                // An empty body is a success. A body without the envelope is refused, because the call may have failed.
                if !data.isEmpty { try envelope.check(data, json) }
            })
    }
}
