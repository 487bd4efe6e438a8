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

    private init(accept: String?, wantsBody: Bool, _ make: @escaping @Sendable (Data, HTTPResponse, JSONCoding) throws -> Output) {
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

/// A body that is not what the call declared.
public struct ResponseDecodingError: RequestFailure {
    /// How much of the body is kept: 1 KiB.
    public static let bodyLimitBytes = 1024

    public var request: Request?
    /// The head of the response.
    public let head: HTTPResponse
    /// The type that was wanted.
    public let typeName: String
    /// Where in the value it went wrong, as `user.addresses[2].street`, at most 200 characters; empty for the value itself.
    public let codingPath: String
    /// What the decoder threw.
    public let underlying: any Error
    /// At most ``bodyLimitBytes`` bytes of the body.
    public let bodyPrefix: Data
    public var attempts: [AttemptRecord]

    public var response: HTTPResponse? { head }
    public var phase: ExchangePhase { .decode }
    public var delivery: Delivery { .sent }

    public init(_ type: Any.Type, underlying: any Error, body: Data, of response: Response) {
        request = response.request
        head = response.head
        attempts = response.metadata.attempts
        typeName = String(reflecting: type)
        self.underlying = underlying
        bodyPrefix = Data(body.prefix(Self.bodyLimitBytes))
        codingPath = Self.context(of: underlying).map { Self.text($0.codingPath).shownSafely() } ?? ""
    }

    private static func context(of error: any Error) -> DecodingError.Context? {
        switch error as? DecodingError {
        case .typeMismatch(_, let context), .valueNotFound(_, let context), .dataCorrupted(let context): context
        case .keyNotFound(let key, let context):
            DecodingError.Context(codingPath: context.codingPath + [key], debugDescription: context.debugDescription)
        default: nil
        }
    }

    private static func text(_ path: [any CodingKey]) -> String {
        path.reduce(into: "") { text, key in
            if let index = key.intValue {
                text += "[\(index)]"
            } else {
                text += text.isEmpty ? key.stringValue : "." + key.stringValue
            }
        }
    }

    private var kind: String {
        switch underlying as? DecodingError {
        case .typeMismatch(let type, _): "not a \(type)"
        case .valueNotFound(let type, _): "no value where a \(type) is wanted"
        case .keyNotFound: "no such key"
        case .dataCorrupted: "invalid data"
        default: "\(type(of: underlying))"
        }
    }

    /// Request, status, type and path: none of the body.
    public var description: String {
        let request = request.map { "\($0): " } ?? ""
        let place = codingPath.isEmpty ? "" : " at \(codingPath)"
        return "\(request)cannot decode \(typeName)\(place): \(kind) (status \(head.status.code))"
    }
}

extension ResponseDecodingError: CustomReflectable {
    public var customMirror: Mirror {
        Mirror(self, children: ["failure": description, "body": "\(bodyPrefix.count) bytes kept"] as KeyValuePairs<String, Any>)
    }
}
