#if SWIFT_NIO
internal import ErrandCore
internal import ErrandFormats
internal import NIOHPACK

/// Writes the head of a request, or its trailers, as a section of fields
/// ([RFC 9113, section 8.3.1](https://www.rfc-editor.org/rfc/rfc9113#section-8.3.1)).
///
/// Each connection has its own value, which remembers the secret names.
struct HTTP2RequestFields {
    /// For each name, whether the fields with this name are secret. The values apply to requests with the standard sensitivity.
    private var known: [HTTPField.Name: Bool] = [:]
    private static let knownNames = 128

    /// Returns the head of a request.
    ///
    /// - `:authority` is the request's own `Host`, if present, otherwise the request's authority.
    /// - The connection fields of HTTP/1.1, and the fields that `Connection` names, are not written. `TE` is written only as `trailers`
    ///   ([RFC 9113, section 8.2.2](https://www.rfc-editor.org/rfc/rfc9113#section-8.2.2)).
    /// - The request's own `Content-Length` is not written: `framing` decides whether the head has this field, as in HTTP/1.1.
    /// - `Proxy-Authorization` is not written, because a proxy reads only requests of HTTP/1.1.
    /// - A priority other than the normal priority is written as `priority: u=…`, unless the request has that field
    ///   ([RFC 9218, section 5](https://www.rfc-editor.org/rfc/rfc9218#section-5)).
    /// - Secret fields are marked as never indexed, so that no proxy adds these fields to its compression table ([RFC 7541, section
    ///   7.1.3](https://www.rfc-editor.org/rfc/rfc7541#section-7.1.3)).
    mutating func head(of request: Request, framing: RequestEncoder.BodyFraming) throws(UnwritableRequestError) -> HPACKHeaders {
        let (head, fields) = (request.head, request.headers)
        var host: HTTPField?
        for field in fields where field.name.canonicalName.isExactly("host") {
            guard host == nil else { throw .severalHosts }
            host = field
        }
        var method = head.method.rawValue
        guard !method.isEmpty, method.withUTF8({ $0.allSatisfy(\.isTokenOctet) }) else { throw .invalidMethod }
        guard head.method != .connect else { throw .connect }
        guard !head.method.isPreface else { throw .preface }
        var section = HPACKHeaders()
        section.reserveCapacity(fields.count + 6)
        section.add(name: ":method", value: method)
        section.add(name: ":scheme", value: head.scheme ?? "https")
        let authority = host?.value ?? head.authority ?? ""
        try RequestEncoder.checkAuthority(authority)
        section.add(name: ":authority", value: authority)
        // An entry for each path would evict other fields from the compression table.
        section.add(name: ":path", value: try Self.path(head.path ?? "", of: head.method), indexing: .nonIndexable)
        let dropped = Self.connectionOptions(fields)
        var hasPriority = false
        for field in fields {
            let name = field.name.canonicalName
            switch name {
            case "host", "content-length", "connection", "keep-alive", "proxy-connection", "transfer-encoding",  // octets: names are tokens
                "upgrade", "http2-settings", "proxy-authorization":
                continue
            case "te":  // octets: names are tokens
                if Self.acceptsTrailers(field) { section.add(name: name, value: "trailers") }
                continue
            case "priority": hasPriority = true  // octets: names are tokens
            default: break
            }
            if !dropped.isEmpty, dropped.contains(name) { continue }
            try add(field, to: &section, request.options.sensitivity)
        }
        switch framing {
        case .none where head.method == .post || head.method == .put || head.method == .patch:
            section.add(name: "content-length", value: "0")
        case .none, .chunked: break
        case .length(let length): section.add(name: "content-length", value: String(length), indexing: .nonIndexable)
        }
        if !hasPriority, request.options.priority != .normal {
            section.add(name: "priority", value: request.options.priority.description)
        }
        guard Self.fits(section) else { throw .headLongerThanFrame }
        return section
    }

    /// Returns trailers, without the fields about the framing of the message and about the connection, and without `Proxy-Authorization`;
    /// `nil` if no field remains.
    mutating func trailers(_ fields: HTTPFields?, of request: Request) throws(UnwritableRequestError) -> HPACKHeaders? {
        guard let fields else { return nil }
        var section = HPACKHeaders()
        for field in fields where UsualFieldNames.Role(field.name) == .none {
            try add(field, to: &section, request.options.sensitivity)
        }
        guard Self.fits(section) else { throw .headLongerThanFrame }
        return section.isEmpty ? nil : section
    }

    /// Returns whether a section certainly fits in one frame. `NIOHTTP2Handler` writes no CONTINUATION. Therefore, a longer section would
    /// end the connection with all its exchanges.
    private static func fits(_ section: HPACKHeaders) -> Bool {
        var bytes = 0
        for (name, value, _) in section { bytes += name.utf8.count + value.utf8.count + fieldBytes }
        // A byte takes at most 30 bits in the Huffman code.
        if bytes <= HTTP2Limits.frameBytes / 4 { return true }
        var bits = 0
        for (name, value, _) in section {
            bits += fieldBytes * 8
            for byte in name.utf8 { bits += Self.bits(of: byte) }
            for byte in value.utf8 { bits += Self.bits(of: byte) }
        }
        return bits <= HTTP2Limits.frameBytes * 8
    }

    /// The maximum number of bytes that a field takes in addition to its name and value: two lengths and the kind of indexing.
    private static let fieldBytes = 12

    /// An upper bound of the bits that a byte takes in the Huffman code
    /// ([RFC 7541, appendix B](https://www.rfc-editor.org/rfc/rfc7541#appendix-B)).
    private static func bits(of byte: UInt8) -> Int {
        switch byte {
        case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"), UInt8(ascii: "0")...UInt8(ascii: "9"): 8
        case UInt8(ascii: " "), UInt8(ascii: "%"), UInt8(ascii: "&"), UInt8(ascii: "*"), UInt8(ascii: ","), UInt8(ascii: "-"),
            UInt8(ascii: "."), UInt8(ascii: "/"), UInt8(ascii: ":"), UInt8(ascii: ";"), UInt8(ascii: "="), UInt8(ascii: "_"):
            8
        case UInt8(ascii: "\\"): 19
        case 0x21...0x7E: 15
        default: 30
        }
    }

    private mutating func add(
        _ field: HTTPField, to section: inout HPACKHeaders, _ sensitivity: Sensitivity
    ) throws(UnwritableRequestError) {
        let (control, isASCII) = field.withUnsafeBytesOfValue { ByteScan.firstControl(in: $0) }
        guard control == nil else { throw .unsafeField(UnsafeFieldError(field)) }
        // The HPACK encoder takes only strings. If a value is not UTF-8, its bytes are decoded as ISO 8859-1, as in an HTTP/1.1
        // response, and sent as that text.
        let value = isASCII ? field.value : field.withUnsafeBytesOfValue { $0.text(isASCII: false) }
        section.add(name: field.name.canonicalName, value: value, indexing: indexing(of: field, sensitivity))
    }

    private mutating func indexing(of field: HTTPField, _ sensitivity: Sensitivity) -> HPACKIndexing {
        switch field.indexingStrategy {
        case .disallow: return .neverIndexed
        case .avoid: return .nonIndexable
        default: break
        }
        guard sensitivity == .standard else { return sensitivity.isSensitive(field.name) ? .neverIndexed : .indexable }
        if let isSecret = known[field.name] { return isSecret ? .neverIndexed : .indexable }
        if known.count >= Self.knownNames { known.removeAll(keepingCapacity: true) }
        let isSecret = sensitivity.isSensitive(field.name)
        known[field.name] = isSecret
        return isSecret ? .neverIndexed : .indexable
    }

    // MARK: - The target

    private static func path(_ path: String, of method: HTTPRequest.Method) throws(UnwritableRequestError) -> String {
        guard path.utf8.allSatisfy(\.isTargetOctet) else { throw .invalidTarget }
        switch path.utf8.first {
        case UInt8(ascii: "/"): return path
        case nil: return "/"
        case UInt8(ascii: "?"): return "/" + path
        case UInt8(ascii: "*") where path.isExactly("*") && method == .options: return path
        default: throw .invalidTarget
        }
    }

    // MARK: - The connection's fields

    /// The names of fields that `Connection` lists, in lower case.
    private static func connectionOptions(_ fields: HTTPFields) -> [String] {
        var names: [String] = []
        for field in fields where field.name.canonicalName.utf8.count == 10 && field.name == .connection {
            field.withUnsafeBytesOfValue { value in
                value.forEachListElement { names.append(String(decoding: $0, as: UTF8.self).lowercased()) }
            }
        }
        return names
    }

    private static func acceptsTrailers(_ field: HTTPField) -> Bool {
        var accepts = false
        field.withUnsafeBytesOfValue { value in
            value.forEachListElement { if $0.isText("trailers") { accepts = true } }
        }
        return accepts
    }
}
#endif
