public import ErrandCore
internal import ErrandFormats

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

    /// Creates the error of a response whose body is not a value of `type`.
    ///
    /// - Parameters:
    ///   - underlying: the error of the decoder.
    ///   - body: the body; its first ``bodyLimitBytes`` bytes are kept.
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
