#if SWIFT_NIO
internal import ErrandCore
internal import ErrandFormats

/// The fields of a head or of trailers during parsing, and their meaning for the body and the connection.
struct FieldSection {
    /// The combined values of `Content-Length`.
    enum ContentLength {
        case missing
        case bytes(Int64)
        case invalid
        case different
    }

    /// The combined codings of `Transfer-Encoding`.
    enum TransferEncoding {
        case missing
        case chunked
        case chunkedNotLast
        case unsupported
    }

    private(set) var fields = HTTPFields()
    /// The number of lines read, including the lines of dropped fields.
    private(set) var lines = 0
    private(set) var contentLength = ContentLength.missing
    private(set) var transferEncoding = TransferEncoding.missing
    /// Whether `Connection` has the option `close`.
    private(set) var hasClose = false
    /// Whether `Connection` has the option `keep-alive`.
    private(set) var hasKeepAlive = false
    private(set) var keepAliveSeconds: Int?
    /// Whether there is a field `Alt-Svc`.
    private(set) var hasAlternatives = false

    /// Whether both `Content-Length` and `Transfer-Encoding` are present.
    var hasBothFramings: Bool {
        if case .missing = contentLength { return false }
        if case .missing = transferEncoding { return false }
        return true
    }

    /// Reads a line without its line end ([RFC 9112, section 5](https://www.rfc-editor.org/rfc/rfc9112#section-5)). If the field is folded
    /// over several lines, `line` includes the line ends between these lines.
    ///
    /// In trailers, fields about the framing of the message and about the connection are dropped
    /// ([RFC 9110, section 6.5.1](https://www.rfc-editor.org/rfc/rfc9110#section-6.5.1)).
    mutating func read(_ line: UnsafeBufferPointer<UInt8>, isTrailer: Bool) throws(ResponseParseError) {
        lines += 1
        // If a line begins with a space or a tab, the parser joins the line to the previous line. Only the first line has no previous line.
        guard !line[0].isOptionalSpace else { throw .continuesNothing }
        var colon = 0
        while colon < line.count, line[colon] != UInt8(ascii: ":") { colon &+= 1 }
        guard colon < line.count else { throw .fieldWithoutColon(line: lines) }

        let nameBytes = line.part(0..<colon)
        let name: HTTPField.Name
        let role: UsualFieldNames.Role
        if let usual = UsualFieldNames.shared.entry(nameBytes) {
            (name, role) = (usual.name, usual.role)
        } else if let unusual = HTTPField.Name(String(decoding: nameBytes, as: UTF8.self)) {
            (name, role) = (unusual, UsualFieldNames.Role(unusual))
        } else {
            throw .invalidFieldName(ResponseParseError.shown(nameBytes))
        }

        let value = line.part((colon + 1)..<line.count).trimmed
        let scan = ByteScan.firstControl(in: value)
        if let control = scan.control {
            if control == 0x0D || control == 0x0A, let unfolded = value.unfolded {
                return try unfolded.withUnsafeBufferPointer { (whole) throws(ResponseParseError) in
                    let value = whole.trimmed
                    let scan = ByteScan.firstControl(in: value)
                    if let control = scan.control { throw Self.refusal(of: control, nameBytes) }
                    append(value, name, role, isASCII: scan.isASCII, isTrailer: isTrailer)
                }
            }
            throw Self.refusal(of: control, nameBytes)
        }
        append(value, name, role, isASCII: scan.isASCII, isTrailer: isTrailer)
    }

    private static func refusal(of control: UInt8, _ name: UnsafeBufferPointer<UInt8>) -> ResponseParseError {
        control == 0x0D ? .bareCarriageReturn : .invalidFieldValue(name: ResponseParseError.shown(name))
    }

    private mutating func append(
        _ value: UnsafeBufferPointer<UInt8>, _ name: HTTPField.Name, _ role: UsualFieldNames.Role, isASCII: Bool, isTrailer: Bool
    ) {
        if role != .none {
            if isTrailer { return }
            record(value, role)
        }
        if fields.isEmpty { fields.reserveCapacity(isTrailer ? 1 : 16) }
        fields.append(HTTPField(name: name, value: value.text(isASCII: isASCII, of: name)))
    }

    private mutating func record(_ value: UnsafeBufferPointer<UInt8>, _ role: UsualFieldNames.Role) {
        switch role {
        case .contentLength:
            value.forEachListElement { element in
                switch (contentLength, element.decimal) {
                case (.invalid, _), (_, nil): contentLength = .invalid
                case (.missing, let length?): contentLength = .bytes(length)
                case (.bytes(let former), let length?): if length != former { contentLength = .different }
                case (.different, _): break
                }
            }
        case .transferEncoding:
            value.forEachListElement { element in
                switch (transferEncoding, element.isText("chunked")) {
                case (.missing, true): transferEncoding = .chunked
                case (.chunked, _), (.chunkedNotLast, _): transferEncoding = .chunkedNotLast
                case (.missing, false), (.unsupported, _): transferEncoding = .unsupported
                }
            }
        case .connection:
            value.forEachListElement { element in
                if element.isText("close") { hasClose = true }
                if element.isText("keep-alive") { hasKeepAlive = true }
            }
        case .keepAlive:
            value.forEachListElement { element in
                guard keepAliveSeconds == nil, element.count > 8, element.part(0..<8).isText("timeout=") else { return }
                keepAliveSeconds = element.part(8..<element.count).decimal.flatMap { Int(exactly: $0) }
            }
        case .alternatives: hasAlternatives = true
        case .none, .notInTrailers: break
        }
    }

    /// Returns the framing of the body of a response ([RFC 9112, section 6.3](https://www.rfc-editor.org/rfc/rfc9112#section-6.3)).
    ///
    /// An invalid `Content-Length` is refused even if there is no body. If there is no body, `Transfer-Encoding` is ignored, because the
    /// response ends with its head.
    func framing(of method: HTTPRequest.Method, status: Int, minorVersion: Int) throws(ResponseParseError) -> ResponseHead.Framing {
        // In a 2xx response to CONNECT, both `Content-Length` and `Transfer-Encoding` must be ignored.
        if method == .connect, (200...299).contains(status) { return .none }
        let hasBody = method.responseHasBody(status: status)
        let hasTransferEncoding = if case .missing = transferEncoding { false } else { true }
        if hasBody, hasTransferEncoding {
            guard case .missing = contentLength else { throw .contentLengthAndTransferEncoding }
            guard minorVersion > 0 else { throw .transferEncodingInHTTP10 }
        }
        switch contentLength {
        case .missing, .bytes: break
        case .invalid: throw .invalidContentLength
        case .different: throw .differentContentLengths
        }
        guard hasBody else { return .none }
        switch transferEncoding {
        case .missing: break
        case .chunked: return .chunked
        case .chunkedNotLast: throw .chunkedNotLast
        case .unsupported: throw .unsupportedTransferCoding
        }
        if case .bytes(let length) = contentLength { return .length(length) }
        return .untilClose
    }
}

extension UnsafeBufferPointer<UInt8> {
    /// The bytes of the unfolded line: each line end and the blanks around the line end are replaced by one space. `nil` if there is no LF.
    fileprivate var unfolded: [UInt8]? {
        guard ByteScan.firstLineFeed(in: self, 0..<count) != nil else { return nil }
        var whole: [UInt8] = []
        whole.reserveCapacity(count)
        var index = 0
        while index < count {
            guard self[index] == 0x0A else {
                whole.append(self[index])
                index += 1
                continue
            }
            if whole.last == 0x0D { whole.removeLast() }
            while let last = whole.last, last.isOptionalSpace { whole.removeLast() }
            whole.append(0x20)
            index += 1
            while index < count, self[index].isOptionalSpace { index += 1 }
        }
        return whole
    }
}
#endif
