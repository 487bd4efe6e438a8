#if SWIFT_NIO
internal import ErrandCore
internal import ErrandFormats

/// The status line of a response ([RFC 9112, section 4](https://www.rfc-editor.org/rfc/rfc9112#section-4)).
struct StatusLine {
    let minorVersion: Int
    let status: HTTPResponse.Status

    /// Reads a line without its line end. The caller must have checked that the line begins with `HTTP/`.
    init(_ line: UnsafeBufferPointer<UInt8>) throws(ResponseParseError) {
        guard line.count >= 8, line[5] == UInt8(ascii: "1"), line[6] == UInt8(ascii: "."), line[7].isASCIIDigit,
            line.count == 8 || line[8].isOptionalSpace
        else { throw .unsupportedVersion(ResponseParseError.shown(line)) }
        guard line.count >= 12, line[8] == 0x20, line[9].isASCIIDigit, line[10].isASCIIDigit, line[11].isASCIIDigit,
            line.count == 12 || line[12] == 0x20
        else { throw .invalidStatusLine(ResponseParseError.shown(line)) }
        let zero = UInt8(ascii: "0")
        let code = Int(line[9] - zero) * 100 + Int(line[10] - zero) * 10 + Int(line[11] - zero)
        guard code >= 100 else { throw .invalidStatusCode(code) }
        let reason = line.part(min(13, line.count)..<line.count)
        let scan = ByteScan.firstControl(in: reason)
        if let control = scan.control {
            throw control == 0x0D ? .bareCarriageReturn : .invalidStatusLine(ResponseParseError.shown(line))
        }
        minorVersion = Int(line[7] - zero)
        status = HTTPResponse.Status(code: code, reasonPhrase: reason.text(isASCII: scan.isASCII))
    }
}
#endif
