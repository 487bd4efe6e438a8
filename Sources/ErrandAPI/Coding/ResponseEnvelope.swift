public import ErrandCore

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
/// It is stated once, for a client. Each call gets what is in the member `data`, or fails with the ``/ErrandCore/ServiceError`` of ``failure``, also for a response
/// whose status is not 2xx, if its body is an envelope. If the data is missing or `null`, an optional output is `nil`, a call without an output succeeds, and
/// any other one fails with ``ResponseDecodingError``.
public protocol ResponseEnvelope: Decodable, Sendable {
    /// The error that the response describes; `nil` if the call succeeded.
    var failure: ServiceError? { get }

    /// The names of the members that lead to the data, as the client's coding reads them: with `.snakeCase`, the member `response_data` is `responseData`.
    /// `["data"]` by default. Empty: the data's members are in the envelope itself, and the output has those that it needs, such as `data` and `nextCursor`.
    static var dataPath: [String] { get }
}

extension ResponseEnvelope {
    /// `["data"]`.
    public static var dataPath: [String] { ["data"] }

    /// Decodes the data of a response in this envelope.
    ///
    /// - Parameter isWhole: whether the output has the members of the envelope itself.
    /// - Throws: ``/ErrandCore/ServiceError``; ``MissingEnvelopeDataError``; `DecodingError`.
    static func unwrapped<Output: Decodable>(_ type: Output.Type, from data: Data, _ json: JSONCoding, isWhole: Bool) throws -> Output {
        isWhole ? try json.decode(Checked<Self, Output>.self, from: data).output : try json.decode(Unwrapped<Self, Output>.self, from: data).output
    }

    /// The error that a body describes; `nil` if it describes none, or is no such envelope.
    static func failure(in data: Data, _ json: JSONCoding) -> ServiceError? { (try? json.decode(Self.self, from: data))?.failure }
}

/// An envelope has no data for an output that needs some.
struct MissingEnvelopeDataError: Error, CustomStringConvertible {
    /// The names of the members that lead to it.
    let path: [String]
    var description: String { "the envelope has no '\(path.joined(separator: "."))', or it is null" }
}

/// An envelope that is the output, decoded in one pass.
private struct Checked<Envelope: ResponseEnvelope, Output: Decodable>: Decodable {
    let output: Output

    init(from decoder: any Decoder) throws {
        if let failure = try Envelope(from: decoder).failure { throw failure }
        output = try Output(from: decoder)
    }
}

/// An envelope and its data, decoded in one pass.
private struct Unwrapped<Envelope: ResponseEnvelope, Output: Decodable>: Decodable {
    let output: Output

    init(from decoder: any Decoder) throws {
        if let failure = try Envelope(from: decoder).failure { throw failure }
        guard let last = Envelope.dataPath.last else {
            output = try Output(from: decoder)
            return
        }
        var container: KeyedDecodingContainer<MemberName>? = try decoder.container(keyedBy: MemberName.self)
        for name in Envelope.dataPath.dropLast() {
            let key = MemberName(stringValue: name)
            guard let outer = container, outer.contains(key), try !outer.decodeNil(forKey: key) else {
                container = nil
                break
            }
            container = try outer.nestedContainer(keyedBy: MemberName.self, forKey: key)
        }
        let key = MemberName(stringValue: last)
        guard let container, container.contains(key), try !container.decodeNil(forKey: key) else {
            guard let optional = Output.self as? any ExpressibleByNilLiteral.Type, let none = optional.init(nilLiteral: ()) as? Output
            else {
                throw MissingEnvelopeDataError(path: Envelope.dataPath)
            }
            output = none
            return
        }
        output = try container.decode(Output.self, forKey: key)
    }
}

private struct MemberName: CodingKey {
    let stringValue: String
    var intValue: Int? { nil }
    init(stringValue: String) { self.stringValue = stringValue }
    init?(intValue: Int) { nil }
}
