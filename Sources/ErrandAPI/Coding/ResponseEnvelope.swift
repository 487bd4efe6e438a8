public import ErrandCore
internal import ErrandFormats

/// The wrapper that a back end puts around each JSON body: a code, a message, and the data.
///
/// ```swift
/// nonisolated struct Wrapper: ResponseEnvelope {
///     var code: Int
///     var message: String?
///     var requestID: String?
///
///     var failure: ServiceError? {
///         code == 0 ? nil : ServiceError(.init(code), message: message ?? "", requestID: requestID)
///     }
/// }
///
/// let client = APIClient(stack, envelope: Wrapper.self)
/// let user: User = try await client.get("/users/7")       // {"code": 0, "data": {"name": "Ada"}}
/// ```
///
/// Declare the envelope once, when you create the client. Each call with a JSON output decodes the member `data`, or fails with the
/// ``/ErrandCore/ServiceError`` of ``failure``. If the status is not 2xx, and the body is an envelope of at most 64 KiB, the call also
/// fails with this error. If an endpoint has its own coding, this coding reads the envelope.
///
/// If the data is missing or `null`:
///
/// - an optional output is `nil`;
/// - a `JSONValue` is ``/ErrandFormats/JSONValue/null``;
/// - a call without an output succeeds;
/// - any other call fails with ``ResponseDecodingError``.
///
/// `Data`, ``APIClient/data(_:)`` and downloads return the body itself, with its envelope. If the body is JSON of at most 64 KiB in
/// an envelope with an error, these three calls throw that error. Property lists, forms, your own decodings and the responses of
/// ``APIClient/send(_:)-(Endpoint<_>)`` have no envelope.
public protocol ResponseEnvelope: Decodable, Sendable {
    /// The error that the response describes; `nil` if the call succeeded.
    var failure: ServiceError? { get }

    /// The names of the members that lead to the data, as the client's coding reads them: with `.snakeCase`, write `responseData` for the
    /// member `response_data`. `["data"]` by default. Empty if the members of the data are on the same level as the members of the
    /// envelope. If the list of names is empty, the output declares the members that it needs.
    static var dataPath: [String] { get }
}

extension ResponseEnvelope {
    /// `["data"]`.
    public static var dataPath: [String] { ["data"] }

    /// Decodes the data of a response in this envelope.
    ///
    /// - Parameter isWhole: whether the output itself has the members of the envelope.
    /// - Throws: ``/ErrandCore/ServiceError``; ``EnvelopeProblem``; `DecodingError`.
    static func unwrapped<Output: Decodable>(_ type: Output.Type, from data: Data, _ json: JSONCoding, isWhole: Bool) throws -> Output {
        if type == JSONValue.self || type == JSONValue?.self {
            let value = try self.json(in: data, json, isWhole: isWhole)
            if let output = value as? Output, type == JSONValue.self || !value.isNull { return output }
            if let none = JSONValue?.none as? Output { return none }
        }
        if isWhole { return try json.decode(WholeEnvelope<Self, Output>.self, from: data).output }
        return try json.decode(EnvelopeData<Self, Output>.self, from: data).output
    }

    /// Returns the data in the body as a JSON value. The body is parsed without a decoder, because a decoder would lose digits of numbers
    /// and take much longer.
    private static func json(in data: Data, _ json: JSONCoding, isWhole: Bool) throws -> JSONValue {
        try check(data, json)
        var value = try json.decode(JSONValue.self, from: data)
        for name in isWhole ? [] : dataPath {
            // The member has either the declared name or the name that the coding writes for the declared name.
            value = try value[at: JSONPointer([name])] ?? value[json.name(of: EnvelopeMember(stringValue: name))]
        }
        return value
    }

    /// - Throws: ``/ErrandCore/ServiceError`` if `data` describes an error; ``EnvelopeProblem`` and `DecodingError` if `data` does not have
    ///   the form of the envelope.
    static func check(_ data: Data, _ json: JSONCoding) throws { _ = try json.decode(WholeEnvelope<Self, Nothing>.self, from: data) }

    /// Returns the error that a body describes. `nil` if the body describes no error, or has no envelope.
    static func failure(in data: Data, _ json: JSONCoding) -> ServiceError? { (try? json.decode(Self.self, from: data))?.failure }

    /// - Throws: the errors of ``check(_:_:)``.
    fileprivate static func check(_ decoder: any Decoder) throws {
        let envelope: Self
        do {
            envelope = try Self(from: decoder)
        } catch let error as DecodingError {
            throw EnvelopeProblem.notAnEnvelope(Self.self, error)
        }
        if let failure = envelope.failure { throw failure }
    }
}

/// An output that is not read from the body.
private struct Nothing: Decodable {
    init(from decoder: any Decoder) {}
}

/// An output with the members of its envelope, decoded in one pass.
private struct WholeEnvelope<Envelope: ResponseEnvelope, Output: Decodable>: Decodable {
    let output: Output

    init(from decoder: any Decoder) throws {
        try Envelope.check(decoder)
        output = try decoder.singleValueContainer().decode(Output.self)
    }
}

/// The data of an envelope, decoded in one pass.
private struct EnvelopeData<Envelope: ResponseEnvelope, Output: Decodable>: Decodable {
    let output: Output

    init(from decoder: any Decoder) throws {
        try Envelope.check(decoder)
        guard let last = Envelope.dataPath.last else {
            // The container decodes the output. The output's initializer must not be called directly. The decoder keeps the keys of a
            // dictionary unchanged only if the decoder itself decodes the dictionary.
            output = try decoder.singleValueContainer().decode(Output.self)
            return
        }
        var container: KeyedDecodingContainer<EnvelopeMember>? = try decoder.container(keyedBy: EnvelopeMember.self)
        for name in Envelope.dataPath.dropLast() {
            let key = EnvelopeMember(stringValue: name)
            guard let outer = container, outer.contains(key), try !outer.decodeNil(forKey: key) else {
                container = nil
                break
            }
            container = try outer.nestedContainer(keyedBy: EnvelopeMember.self, forKey: key)
        }
        let key = EnvelopeMember(stringValue: last)
        guard let container, container.contains(key), try !container.decodeNil(forKey: key) else {
            guard let optional = Output.self as? any ExpressibleByNilLiteral.Type, let none = optional.init(nilLiteral: ()) as? Output
            else { throw EnvelopeProblem.missingData(path: Envelope.dataPath) }
            output = none
            return
        }
        output = try container.decode(Output.self, forKey: key)
    }
}

/// The name of a member on the path to the data. The app has written this name.
private struct EnvelopeMember: CodingKey, DeclaredCodingKey {
    let stringValue: String
    var intValue: Int? { nil }
    init(stringValue: String) { self.stringValue = stringValue }
    init?(intValue: Int) { nil }
}
