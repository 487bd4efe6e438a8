internal import ErrandCore
internal import ErrandFormats

/// A content coding that this library encodes and decodes: gzip ([RFC 1952](https://www.rfc-editor.org/rfc/rfc1952)), deflate, and
/// the codings of the traits `Brotli` and `Zstandard`.
///
/// `deflate` is the format of zlib ([RFC 1950](https://www.rfc-editor.org/rfc/rfc1950)). Some servers send the compressed content
/// without the format of zlib ([RFC 9110, section 8.4.1.2](https://www.rfc-editor.org/rfc/rfc9110#section-8.4.1.2)). The first two
/// bytes of a body show its format.
enum ContentCoding: String, CaseIterable, Sendable {
    case gzip, deflate
    #if Brotli
    case brotli = "br"
    #endif
    #if Zstandard
    case zstandard = "zstd"
    #endif

    /// The value of `Accept-Encoding`: every coding that is compiled in.
    static let accepted = allCases.map(\.rawValue).joined(separator: ", ")

    /// - Parameter name: the name of a coding. The comparison ignores case. `x-gzip` is `gzip` ([RFC 9110, section
    ///   8.4.1](https://www.rfc-editor.org/rfc/rfc9110#section-8.4.1)).
    init?(named name: some StringProtocol) {
        if name.isExactlyIgnoringCase("x-gzip") {
            self = .gzip
            return
        }
        guard let coding = Self.allCases.first(where: { name.isExactlyIgnoringCase($0.rawValue) }) else { return nil }
        self = coding
    }

    // MARK: Codecs

    /// The number of bytes that ``decoder(for:)`` examines.
    var bytesToBegin: Int {
        switch self {
        case .gzip: return 1
        case .deflate: return 2
        #if Brotli
        case .brotli: return 1
        #endif
        #if Zstandard
        case .zstandard: return 4
        #endif
        }
    }

    /// Returns a new decoder.
    ///
    /// - Parameter input: the first bytes of the body; at least ``bytesToBegin`` bytes.
    /// - Throws: `.corrupt` if a body can't begin with these bytes, or if there is not enough memory for the decoder.
    func decoder(for input: Data) throws(ContentDecodingError.Code) -> any Codec {
        guard let decoder = try newDecoder(for: input) else { throw .corrupt(self, "there is not enough memory") }
        return decoder
    }

    private func newDecoder(for input: Data) throws(ContentDecodingError.Code) -> (any Codec)? {
        switch self {
        case .gzip: return Self.zlib(.decode, windowBits: 31)
        case .deflate:
            let (first, second) = (input[input.startIndex], input[input.startIndex + 1])
            let isZlib = first & 0x0F == 8 && (Int(first) << 8 | Int(second)) % 31 == 0
            return Self.zlib(.decode, windowBits: isZlib ? 15 : -15)
        #if Brotli
        case .brotli: return LockedCodec(BrotliDecoding())
        #endif
        #if Zstandard
        case .zstandard:
            guard Self.hasFrame(beginningWith: input) == true else { throw .corrupt(self, "the body does not begin with a frame") }
            return LockedCodec(ZstandardDecoding())
        #endif
        }
    }

    /// Returns a new encoder; `nil` if there is not enough memory.
    func encoder() -> (any Codec)? {
        switch self {
        case .gzip: return Self.zlib(.encode, windowBits: 31)
        case .deflate: return Self.zlib(.encode, windowBits: 15)
        #if Brotli
        case .brotli: return LockedCodec(BrotliEncoding())
        #endif
        #if Zstandard
        case .zstandard: return LockedCodec(ZstandardEncoding())
        #endif
        }
    }

    private static func zlib(_ direction: ZlibState.Direction, windowBits: Int32) -> (any Codec)? {
        LockedCodec(ZlibState(direction, windowBits: windowBits))
    }

    /// Returns whether a member (gzip) or a frame (Zstandard) begins with these bytes; `nil` if more bytes are needed to decide.
    func hasMember(beginningWith input: Data) -> Bool? {
        switch self {
        case .gzip: return input.first.map { $0 == 0x1F }
        case .deflate: return false
        #if Brotli
        case .brotli: return false
        #endif
        #if Zstandard
        case .zstandard: return Self.hasFrame(beginningWith: input)
        #endif
        }
    }

    /// Whether zeros may follow the end of the content. If a gzip file was copied in blocks, for example to a tape, the file
    /// ends with zeros.
    var mayHavePadding: Bool { self == .gzip }

    #if Zstandard
    /// Returns whether a frame of content, or a skippable frame, begins with these bytes ([RFC 8878, sections 3.1.1 and
    /// 3.1.2](https://www.rfc-editor.org/rfc/rfc8878#section-3.1.1)). Without this check, the Zstandard library would also decode
    /// formats that are older than the standard, without the limit of the window.
    private static func hasFrame(beginningWith input: Data) -> Bool? {
        let bytes = Array(input.prefix(4))
        guard let first = bytes.first else { return nil }
        let expected: [UInt8] = (0x50...0x5F).contains(first) ? [first, 0x2A, 0x4D, 0x18] : [0x28, 0xB5, 0x2F, 0xFD]
        guard expected.starts(with: bytes) else { return false }
        return bytes.count == 4 ? true : nil
    }
    #endif

    // MARK: Fields

    /// Returns the codings to decode, in the order in which the server applied them. Returns no codings if a coding is unknown, if the
    /// status is 206, or if the response has no body or an empty body.
    ///
    /// `identity` and empty members are ignored. A field of more than 8 KiB is treated as an unknown coding.
    ///
    /// - Throws: `.tooManyCodings` for more than `limit` codings.
    static func toDecode(
        _ head: HTTPResponse, to method: HTTPRequest.Method, atMost limit: Int
    ) throws(ContentDecodingError.Code) -> [ContentCoding] {
        let status = head.status.code
        guard status != 206, method.responseHasBody(status: status),
            head.headerFields[.contentLength].map({ $0.isExactly("0") }) != true
        else { return [] }
        var codings: [ContentCoding] = []
        var count = 0
        for value in head.headerFields[values: .contentEncoding] {
            guard value.utf8.count <= FieldLimits.valueBytes else { return [] }
            for name in value.listMembers where !name.isExactlyIgnoringCase("identity") {
                count += 1
                guard count <= limit else { throw .tooManyCodings(limit: limit) }
                if let coding = ContentCoding(named: name) { codings.append(coding) }
            }
        }
        return codings.count == count ? codings : []
    }

    /// Returns whether the `Accept-Encoding` of a response accepts the coding in requests
    /// ([RFC 9110, section 12.5.3](https://www.rfc-editor.org/rfc/rfc9110#section-12.5.3)). Returns `nil` if the field is missing, or
    /// has more than 8 KiB.
    func isAccepted(by fields: HTTPFields) -> Bool? {
        let values = fields[values: .acceptEncoding]
        guard !values.isEmpty, values.allSatisfy({ $0.utf8.count <= FieldLimits.valueBytes }) else { return nil }
        var byWildcard = false
        for value in values {
            for member in value.listMembers {
                let parts = member.split(atOctet: UInt8(ascii: ";"), maxSplits: 1).map { String($0).trimmingOptionalWhitespace() }
                guard let name = parts.first else { continue }
                let isRefused = parts.count > 1 && Self.isZero(weight: parts[1])
                if ContentCoding(named: name) == self { return !isRefused }
                if name.isExactly("*") { byWildcard = !isRefused }
            }
        }
        return byWildcard
    }

    /// Whether a parameter is a weight of zero: `q=0`, `Q=0.000`.
    private static func isZero(weight parameter: some StringProtocol) -> Bool {
        let octets = parameter.utf8.map(\.asciiLowercased).filter { $0 != UInt8(ascii: " ") && $0 != UInt8(ascii: "\t") }
        return octets.starts(with: "q=0".utf8) && octets.dropFirst(3).allSatisfy { $0 == UInt8(ascii: ".") || $0 == UInt8(ascii: "0") }
    }
}
