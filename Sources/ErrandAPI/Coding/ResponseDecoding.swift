public import ErrandCore

/// How the body of a response becomes a value.
public struct ResponseDecoding<Output: Sendable>: Sendable {
    /// What is asked for by `Accept`, where nobody else asks; nil asks for nothing.
    public let accept: String?
    /// False where the body is of no interest: then no more of it than 64 KiB is read.
    let wantsBody: Bool
    private let make: @Sendable (Data, HTTPResponse, JSONCoding) throws -> Output

    /// A decoding of your own, such as property lists, XML, or an envelope around the value.
    public init(accept: String? = nil, _ decode: @escaping @Sendable (Data, HTTPResponse, JSONCoding) throws -> Output) {
        self.init(accept: accept, wantsBody: true, decode)
    }

    init(accept: String?, wantsBody: Bool, _ make: @escaping @Sendable (Data, HTTPResponse, JSONCoding) throws -> Output) {
        (self.accept, self.wantsBody, self.make) = (accept, wantsBody, make)
    }

    func value(from data: Data, head: HTTPResponse, json: JSONCoding) throws -> Output { try make(data, head, json) }
}

extension ResponseDecoding where Output: Decodable {
    /// JSON, by the client's ``JSONCoding``. An optional output is nil where the body is empty, as with 204 and 205. `Data` and
    /// `String` are the body itself.
    public static var json: Self {
        // `Data` and `String` are `Decodable` too, but nobody who asks for them means base64 or a quoted text.
        if Output.self == Data.self { return Self(accept: nil) { data, _, _ in try cast(data) } }
        if Output.self == String.self { return Self(accept: nil) { data, _, _ in try cast(String(decoding: data, as: UTF8.self)) } }
        return Self(accept: "application/json") { data, _, json in
            if data.isEmpty, let optional = Output.self as? any ExpressibleByNilLiteral.Type {
                return try cast(optional.init(nilLiteral: ()))
            }
            return try json.decode(Output.self, from: data)
        }
    }

    private static func cast(_ value: Any) throws -> Output {
        guard let output = value as? Output else {
            throw DecodingError.typeMismatch(Output.self, .init(codingPath: [], debugDescription: "a \(type(of: value)) was made"))
        }
        return output
    }
}

extension ResponseDecoding where Output == Void {
    /// The body is of no interest.
    public static var none: Self { Self(accept: nil, wantsBody: false) { _, _, _ in } }
}
