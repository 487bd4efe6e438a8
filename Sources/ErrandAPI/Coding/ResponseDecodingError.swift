public import ErrandCore
internal import ErrandFormats

/// The error for a response whose body is not a value of the declared type.
///
/// The description has the request, the name of the type, the coding path and the problem. The description has no part of the body. For
/// developers, `String(reflecting:)` also has the first 200 bytes of the body, without secrets.
///
/// ```
/// GET https://a.example/users: cannot decode [User] at [1].id: expected an Int, found a string (status 200)
/// GET https://a.example/users: cannot decode [User]: the body is text/html, not JSON (status 200)
/// DELETE https://a.example/users/7: cannot decode User: the body is empty; make the output optional, or Void (status 204)
/// ```
public struct ResponseDecodingError: RequestFailure, NumberedFailure {
    /// The largest size of ``bodyPrefix``: 1 KiB.
    public static let bodyLimitBytes = 1024
    /// The largest size of a body that is read again to find the problem: 1 MiB.
    private static let inspectionLimitBytes = 1024 * 1024

    public var request: Request?
    /// The head of the response.
    public let head: HTTPResponse
    /// The name of the declared type, such as `[User]`.
    public let typeName: String
    /// The coding path of the problem, such as `user.addresses[2].street`, at most 200 characters; empty for the value itself. If a key
    /// strategy converts names, the path has the names in the body: `created_at`, not `createdAt`. Keys of a dictionary are content of
    /// the body, and are shown as `[…]`.
    public let codingPath: String
    /// The error of the decoder, which may contain values from the body.
    public let underlying: any Error
    /// The first ``bodyLimitBytes`` bytes of the body.
    public let bodyPrefix: Data
    public var attempts: [AttemptRecord]
    /// The followed redirects, and the other changes of the URL, in order. Empty if no redirect was followed.
    public let redirects: [RedirectRecord]
    /// Whether ``bodyPrefix`` is the whole body, or the whole part of the body that was decoded.
    package let bodyIsWhole: Bool
    /// The media type of ``bodyPrefix``; `nil` if the response has no media type. For an event of an event stream, the media type is JSON.
    package let bodyType: String?
    /// The problem in words.
    private let problem: String

    public var response: HTTPResponse? { head }
    public var phase: ExchangePhase { .decode }
    public var delivery: Delivery { .sent }

    /// Creates the error of a response whose body is not a value of `type`.
    ///
    /// - Parameters:
    ///   - type: the declared type.
    ///   - underlying: the error of the decoder.
    ///   - body: the body; its first ``bodyLimitBytes`` bytes are kept.
    ///   - response: the response with the body.
    public init(_ type: Any.Type, underlying: any Error, body: Data, of response: Response) {
        self.init(type, underlying: underlying, body: body, of: response, coding: response.request.options.call.json ?? .standard)
    }

    /// - Parameters:
    ///   - coding: the coding of the decoder.
    ///   - part: the name of the part of the response, such as `event 7`, if `body` is not the whole body.
    init(_ type: Any.Type, underlying: any Error, body: Data, of response: Response, coding: JSONCoding, part: String? = nil) {
        request = response.request
        head = response.head
        attempts = response.metadata.attempts
        redirects = response.metadata.redirects
        typeName = type == Void.self ? "Void" : ErrandCore.typeName(type)
        var (underlying, remark) = (underlying, "")
        if case .notAnEnvelope(let envelope, let error)? = underlying as? EnvelopeProblem {
            underlying = error
            remark = " in the envelope \(ErrandCore.typeName(envelope)); if the body has no envelope, use decoding: .json.withoutEnvelope"
        }
        self.underlying = underlying
        bodyPrefix = Data(body.prefix(Self.bodyLimitBytes))
        bodyIsWhole = body.count <= Self.bodyLimitBytes
        bodyType = part == nil ? head.headerFields.single(.contentType) : "application/json"
        let keys = Self.context(of: underlying)?.codingPath ?? []
        let place = Self.place(of: keys, in: body, underlying, coding)
        codingPath = shownPath(keys, named: place.names)
        let similar = place.similar.map { Self.remark(on: $0, for: keys.last, coding) } ?? ""
        let problem = Self.problem(underlying, at: place, in: body, head) + similar + remark
        self.problem =
            part.map { part in
                guard let place = problem.utf8.firstRange(of: "the body".utf8) else { return "\(problem), in \(part)" }
                return String(problem[..<place.lowerBound]) + part + problem[place.upperBound...]
            } ?? problem
    }

    /// Returns a remark about a member of the body whose name is similar to the missing key. The remark names the coding that would read
    /// this member.
    private static func remark(on found: String, for key: (any CodingKey)?, _ coding: JSONCoding) -> String {
        let text = "; the body has '\(found.shownSafely(limit: 80))'"
        if let read = ReadName.name(of: found, coding), read != found {
            return text + ", which is read as '\(read.shownSafely(limit: 80))'"
        }
        let isSnakeCase = ReadName.name(of: found, JSONCoding(keys: .snakeCase)) == key?.stringValue
        return text + (isSnakeCase ? ", which JSONCoding(keys: .snakeCase) reads" : "")
    }

    private static func context(of error: any Error) -> DecodingError.Context? {
        switch error as? DecodingError {
        case .typeMismatch(_, let context), .valueNotFound(_, let context), .dataCorrupted(let context): context
        case .keyNotFound(let key, let context):
            DecodingError.Context(codingPath: context.codingPath + [key], debugDescription: context.debugDescription)
        default: nil
        }
    }

    /// The place of a problem in the body.
    private struct Place {
        /// The names of the keys in the body. A key strategy converts names: `created_at` in the body becomes `createdAt`.
        ///
        /// For a missing key, the last name is the name that the coding would write. If the body has a member with a similar name, the last
        /// name is the name of the property.
        var names: [String]
        /// The name of a member that is similar to the name of the missing key.
        var similar: String?
        /// The value at the place; `nil` if the body has no such place, or was not searched.
        var value: JSONValue?
    }

    private static func place(of path: [any CodingKey], in body: Data, _ error: any Error, _ coding: JSONCoding) -> Place {
        var place = Place(names: path.map(\.stringValue))
        let error = error as? DecodingError
        let isMissing = if case .keyNotFound? = error { true } else { false }
        let isMismatch = if case .typeMismatch? = error { true } else { false }
        guard body.count <= inspectionLimitBytes, isMismatch || path.contains(where: { $0.intValue == nil }),
            var value = try? JSONValue(parsing: body)
        else { return place }
        if case .keyNotFound(let key, _) = error, let name = try? coding.name(of: key) { place.names[path.count - 1] = name }
        func plain(_ name: String) -> String {
            String(decoding: name.utf8.filter { $0 != UInt8(ascii: "_") && $0 != UInt8(ascii: "-") }, as: UTF8.self).lowercased()
        }
        for (index, key) in path.enumerated() {
            switch value {
            case .array(let elements):
                guard let position = key.intValue, elements.indices.contains(position) else { return place }
                value = elements[position]
            case .object(let members):
                let name = key.stringValue
                // The name is converted only once, because it may be as long as the body.
                let plainName = plain(name)
                let near = members[name] == nil ? members.keys.filter { plain($0).isExactly(plainName) }.min() : name
                guard let near, let member = members[near] else { return place }
                if isMissing, index == path.count - 1 {
                    place.names[index] = name
                    place.similar = isOfData(key) ? nil : near
                    return place
                }
                (place.names[index], value) = (near, member)
            default: return place
            }
        }
        place.value = value
        return place
    }

    /// Decodes the name of a member, converted as the coding converts names.
    private struct ReadName: Decodable {
        private let name: String?

        init(from decoder: any Decoder) throws { name = try decoder.container(keyedBy: PlainKey.self).allKeys.first?.stringValue }

        static func name(of member: String, _ coding: JSONCoding) -> String? {
            try? coding.decode(ReadName.self, from: Data(JSONValue.object([member: .null]).bytes())).name
        }
    }

    private var happened: String { "cannot decode \(typeName)\(codingPath.isEmpty ? "" : " at \(codingPath)"): \(problem)" }

    /// The request, type, coding path, problem, status and the first request of a redirect, without any part of the body.
    public var description: String {
        "\(shownRequest)\(happened) (status \(head.status.code))\(head.shownRemarks)\(shownAttempts)"
            + redirects.shown(before: request)
    }

    public var failureNumber: FailureNumber { .responseDecoding }
    /// The type, the coding path and the problem.
    public var failureReason: String? { happened.asSentence }
    public var recoverySuggestion: String? { "The app and the server do not agree on the format: update the app, or try again later." }
}

// MARK: - The problem in words

extension ResponseDecodingError {
    /// Returns the problem in words. Texts of the decoder are included only if the texts contain no values of the body.
    private static func problem(_ error: any Error, at place: Place, in body: Data, _ head: HTTPResponse) -> String {
        if body.isEmpty { return "the body is empty; make the output optional, or Void" }
        if case .missingData(let path)? = error as? EnvelopeProblem {
            return "the envelope has no '\(path.joined(separator: "."))', or it is null; make the output optional if this is not a failure"
        }
        switch error as? DecodingError {
        case .typeMismatch(let type, _): return "expected \(named(type))" + (place.value.map { ", found \(kind(of: $0))" } ?? "")
        case .valueNotFound(let type, _): return "expected \(named(type)), found null"
        case .keyNotFound: return "no such key"
        case .dataCorrupted(let context):
            if let problem = problem(ofDate: context.underlyingError) { return problem }
            return context.codingPath.isEmpty
                ? problem(ofWhole: body, head, start(of: context)) : problem(ofValue: start(of: context))
        default: return "\(type(of: error))"
        }
    }

    /// Returns only the start of a decoder's text, because the text may end with a long value of the body.
    private static func start(of context: DecodingError.Context) -> String {
        String(decoding: context.debugDescription.utf8.prefix(1024), as: UTF8.self)
    }

    private static func problem(ofWhole body: Data, _ head: HTTPResponse, _ text: String) -> String {
        if text.hasOctetPrefix(PropertyListCoding.problem) || text.hasOctetPrefix(FormURLEncoded.problem) { return text }
        let isExact = text.hasOctetPrefix(JSONCoding.invalidProblem) || text.hasOctetPrefix(JSONCoding.tooLargeProblem)
        let isJSONWanted = isExact || text.hasOctetPrefix("The given data was not valid JSON")
        if let type = head.headerFields.single(.contentType).flatMap({ MediaType($0) }), !type.isJSON {
            return "the body is \(type.essence.shownSafely(limit: 80))\(isJSONWanted ? ", not JSON" : "")"
        }
        if let codings = head.shownContentCodings {
            return "the body is still encoded (Content-Encoding: \(codings)): "
                + "decompress() decodes it, unless the request itself sets Accept-Encoding"
        }
        if let problem = body.withUnsafeBytes({ JSONDepth.problem(in: $0) }) { return "the body is \(problem)" }
        if isExact { return text }
        guard isJSONWanted else { return problem(ofValue: text) }
        // If a number does not fit its type, the decoder reports the whole text as invalid.
        let isAnyOfBoth = "\(JSONCoding.invalidProblem), or a number in it does not fit its type"
        guard body.count <= inspectionLimitBytes else { return isAnyOfBoth }
        do {
            _ = try JSONValue(parsing: body)
            return "a number in the body does not fit its type"
        } catch {
            return error.exceedsLimit ? isAnyOfBoth : JSONCoding.problem(error)
        }
    }

    private static func problem(ofDate error: (any Error)?) -> String? {
        guard let problem = error as? RFC3339Date.Problem else { return nil }
        let remedy = problem == .missingTimeZone ? "; JSONCoding(dates: .iso8601(assuming: .gmt)) reads it as UTC" : ""
        return "not an ISO 8601 date, such as 2026-11-21T12:36:00Z" + (problem == .form ? "" : ": \(problem)") + remedy
    }

    private static func problem(ofValue text: String) -> String {
        // The text contains the date format that the app has declared, and no part of the body.
        if text.hasOctetPrefix("not a date of the ") { return text }
        if text.hasOctetPrefix("not a date") || text.containsOctets("ISO8601") || text.containsOctets("Date string") {
            return "not an ISO 8601 date, such as 2026-11-21T12:36:00Z"
        }
        if text.hasOctetPrefix("Cannot initialize "), let end = text.utf8.firstRange(of: " from invalid ".utf8) {
            return "not a value of \(Substring(text[..<end.lowerBound].utf8.dropFirst(18)).shownSafely(limit: 80))"
        }
        let known = [
            ("Invalid URL string", "not a URL"), ("Attempted to decode UUID", "not a UUID"),
            ("Encountered Data is not valid Base64", "not base64"),
            ("a number out of the range of Double", "a number out of the range of Double"),
            ("nested deeper than \(JSONValue.depthLimit)", "nested deeper than \(JSONValue.depthLimit)"),
            (FormURLEncoded.repeatedName, FormURLEncoded.repeatedName),
        ]
        return known.first { text.hasOctetPrefix($0.0) }?.1 ?? "invalid value"
    }

    /// Returns the name of a type with its article: `an Int`, `a String`, `an object`.
    private static func named(_ type: Any.Type) -> String {
        switch "\(type)" {  // octets: the name of a type of Swift
        case "Dictionary<String, Any>": return "an object"
        case "Array<Any>": return "an array"
        default:
            let name = ErrandCore.typeName(type)
            return (name.first.map { "AEIO[".contains($0) } == true ? "an " : "a ") + name
        }
    }

    private static func kind(of value: JSONValue) -> String {
        switch value {
        case .null: "null"
        case .bool: "a Boolean"
        case .number: "a number"
        case .string: "a string"
        case .array: "an array"
        case .object: "an object"
        }
    }
}

extension HTTPResponse {
    /// The content codings that no layer has decoded; `nil` for a decoded body.
    var shownContentCodings: String? {
        guard let codings = headerFields[.contentEncoding], !codings.isEmpty, !codings.isExactlyIgnoringCase("identity") else { return nil }
        return codings.shownSafely(limit: 80)
    }
}

extension ResponseDecodingError {
    public var customMirror: Mirror {
        Mirror(self, children: ["failure": description, "body": "\(bodyPrefix.count.counted("byte")) kept"] as KeyValuePairs<String, Any>)
    }
}
