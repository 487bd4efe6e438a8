#if SWIFT_NIO
internal import ErrandCore
internal import ErrandFormats
internal import NIOHPACK

/// Reads the head of a response, or its trailers, from a section of fields
/// ([RFC 9113, section 8.3](https://www.rfc-editor.org/rfc/rfc9113#section-8.3)).
struct HTTP2ResponseFields {
    private(set) var status: Int?
    private(set) var fields = HTTPFields()
    private var contentLength: Int64?
    /// Whether there is a field `Alt-Svc`.
    private(set) var hasAlternatives = false

    /// Returns the head of a response.
    static func head(_ section: HPACKHeaders, _ limits: ResponseLimits) throws(HTTP2ResponseError) -> HTTP2ResponseFields {
        let read = try HTTP2ResponseFields(section, limits, areTrailers: false)
        guard read.status != nil else { throw .missingStatus }
        return read
    }

    /// Returns the trailers of a response; `nil` if the section has no fields. Fields without a meaning in trailers are dropped ([RFC 9110,
    /// section 6.5.1](https://www.rfc-editor.org/rfc/rfc9110#section-6.5.1)).
    static func trailers(_ section: HPACKHeaders, _ limits: ResponseLimits) throws(HTTP2ResponseError) -> HTTPFields? {
        let fields = try HTTP2ResponseFields(section, limits, areTrailers: true).fields
        return fields.isEmpty ? nil : fields
    }

    private init(_ section: HPACKHeaders, _ limits: ResponseLimits, areTrailers: Bool) throws(HTTP2ResponseError) {
        fields.reserveCapacity(section.count)
        var (count, bytes) = (0, 0)
        for (name, value, _) in section {
            // RFC 9113, section 6.5.2
            bytes += name.utf8.count + value.utf8.count + 32
            guard bytes <= limits.headBytes else { throw .headTooLong(limitBytes: limits.headBytes) }
            if name.utf8.first == UInt8(ascii: ":") {
                guard name.isExactly(":status"), status == nil, count == 0, !areTrailers else { throw .pseudoField(Self.shown(name)) }
                status = try Self.status(value)
                continue
            }
            count += 1
            guard count <= limits.fieldCount else { throw .tooManyFields(limit: limits.fieldCount) }
            try add(name, value, areTrailers: areTrailers)
        }
    }

    private mutating func add(_ text: String, _ value: String, areTrailers: Bool) throws(HTTP2ResponseError) {
        let (name, role) = try Self.name(text)
        // Some servers send spaces around a value, which RFC 9113, section 8.2.1 does not allow.
        let value = value.trimmingOptionalWhitespace()
        switch role {
        case .connection, .keepAlive, .transferEncoding: throw .connectionField(name.rawName)
        case .notInTrailers where name.rawName.isExactly("upgrade") || name.rawName.isExactly("proxy-connection"):
            throw .connectionField(name.rawName)
        case .contentLength where !areTrailers: try recordLength(value)
        case .alternatives where !areTrailers: hasAlternatives = true
        case .contentLength, .alternatives, .notInTrailers: if areTrailers { return }
        case .none: break
        }
        var scanned = value
        guard scanned.withUTF8({ ByteScan.firstControl(in: $0).control == nil }) else { throw .invalidFieldValue(name: Self.shown(text)) }
        fields.append(HTTPField(name: name, value: value))
    }

    private static func name(_ text: String) throws(HTTP2ResponseError) -> (HTTPField.Name, UsualFieldNames.Role) {
        var text = text
        let (entry, hasUpperCase) = text.withUTF8 { bytes in
            (UsualFieldNames.shared.entry(bytes), bytes.contains { (UInt8(ascii: "A")...UInt8(ascii: "Z")).contains($0) })
        }
        guard !hasUpperCase else { throw .fieldInUpperCase(shown(text)) }
        if let entry { return (entry.name, entry.role) }
        guard let name = HTTPField.Name(text) else { throw .invalidFieldName(shown(text)) }
        return (name, UsualFieldNames.Role(name))
    }

    private static func status(_ text: String) throws(HTTP2ResponseError) -> Int {
        var text = text
        let status = text.withUTF8 { $0.count == 3 ? $0.decimal : nil }
        guard let status, status >= 100 else { throw .invalidStatus }
        return Int(status)
    }

    private mutating func recordLength(_ text: String) throws(HTTP2ResponseError) {
        var text = text
        var (length, isInvalid, areDifferent) = (contentLength, false, false)
        text.withUTF8 { bytes in
            bytes.forEachListElement { element in
                guard let number = element.decimal else {
                    isInvalid = true
                    return
                }
                if let former = length, former != number { areDifferent = true }
                length = number
            }
        }
        guard !isInvalid else { throw .invalidContentLength }
        guard !areDifferent else { throw .differentContentLengths }
        contentLength = length
    }

    private static func shown(_ text: String) -> String {
        var text = text
        return text.withUTF8 { ResponseParseError.shown($0) }
    }

    // MARK: - The head

    var response: HTTPResponse { HTTPResponse(status: .init(code: status ?? 0), headerFields: fields) }

    /// Returns the length of the body of a final response to `method`, in bytes. The length is 0 if such a response has no body. `nil` if
    /// the server did not declare the length.
    func bodyLength(to method: HTTPRequest.Method) -> Int64? { method.responseHasBody(status: status ?? 0) ? contentLength : 0 }

    /// Returns the length of the body of a final response; `nil` if the length is not known before the end of the body.
    func expectedLength(to method: HTTPRequest.Method, ends: Bool) -> Int64? {
        method.expectedResponseLength(status: status ?? 0, declared: ends ? 0 : contentLength)
    }
}
#endif
