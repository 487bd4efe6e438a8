package import ErrandCore
internal import ErrandFormats

/// The text of a body, or of its first bytes, in a log or an error: JSON, a form or events without secrets. For any other body, the
/// text is only a short description, such as `binary` or the media type.
package struct BodyText {
    /// The description that is shown in place of the bytes, such as `binary`; `nil` if ``lines`` are shown.
    package private(set) var summary: String?
    package private(set) var lines: [String] = []

    /// - Parameters:
    ///   - front: the first bytes of the body.
    ///   - isWhole: whether `front` is the whole body.
    ///   - contentType: the value of `Content-Type`; `nil` if the field is missing.
    ///   - isPretty: whether each member and element of JSON has its own line.
    ///   - secrets: the scrubber of secrets that the body may contain under any name, or without a name; `nil` if there are no such
    ///     secrets.
    package init(
        _ front: Data, isWhole: Bool, contentType: String?, sensitivity: Sensitivity, isPretty: Bool, secrets: SecretScrubber? = nil
    ) {
        let bytes = Array(front)
        let type = contentType.flatMap { MediaType($0) }
        if type?.type == "multipart" {  // octets: ASCII
            let names = MultipartSection.parts(of: bytes, boundary: type?[parameter: "boundary"]).map { part in
                (part.name.map { "'\($0)'" } ?? "a part") + (part.type.map { " (\($0))" } ?? "")
            }
            let list = names.joined(separator: ", ")
            summary = "multipart" + (names.isEmpty ? "" : ": " + (secrets?.scrubbed(list) ?? list).onOneLine) + (isWhole ? "" : ", …")
            return
        }
        let charset = Charset(named: type?[parameter: "charset"])
        guard type?.mayBeText != false, let text = Self.text(bytes, isWhole: isWhole, charset: charset) else {
            summary = "binary"
            return
        }
        var shown = Array(text.utf8)
        if let edits = secrets?.edits(in: shown, isCut: !isWhole) { shown = edits.applied(to: shown) }
        let found = Findings(in: shown, type: type, sensitivity: sensitivity, isCut: !isWhole)
        if found.isHidden {
            summary = type?.essence.shownSafely() ?? "text"
            return
        }
        let redacted = found.edits.applied(to: shown)
        if let first = redacted.first(where: { !$0.isSpace }), "{[".utf8.contains(first),
            !isWhole || JSONRedaction(redacted, placeholder: "", isSensitive: { _ in false }).isValid
        {
            lines = JSONLayout.lines(of: redacted, isPretty: isPretty).map { String(decoding: $0, as: UTF8.self).shownInLine }
        } else {
            lines = String(decoding: redacted, as: UTF8.self).split(omittingEmptySubsequences: false, whereSeparator: \.isNewline)
                .map(\.shownInLine)
            if lines.last?.isEmpty == true { lines.removeLast() }
        }
    }

    /// Returns the bytes as text. `nil` if the first 512 bytes have control characters other than tab, CR and LF. Also `nil` if these bytes
    /// are invalid UTF-8, and `charset` is not Windows-1252.
    private static func text(_ bytes: [UInt8], isWhole: Bool, charset: Charset?) -> String? {
        var sample = bytes.prefix(512)
        guard !sample.contains(where: { $0 < 0x20 && !$0.isSpace || $0 == 0x7F }) else { return nil }
        // The sample and the bytes may end within a character.
        if !isWhole || sample.count < bytes.count { sample = sample.dropLast(incompleteCount(sample)) }
        if String(validating: sample, as: UTF8.self) != nil {
            return String(decoding: isWhole ? bytes[...] : bytes.dropLast(incompleteCount(bytes[...])), as: UTF8.self)
        }
        guard case .windows1252? = charset else { return nil }
        return Charset.windows1252.decode(bytes)
    }

    /// Returns the number of bytes at the end that are the beginning of an incomplete character.
    private static func incompleteCount(_ bytes: ArraySlice<UInt8>) -> Int {
        for (index, byte) in bytes.reversed().prefix(4).enumerated() where byte & 0xC0 != 0x80 {
            let wanted = byte < 0x80 ? 1 : byte < 0xE0 ? 2 : byte < 0xF0 ? 3 : 4
            return wanted > index + 1 ? index + 1 : 0
        }
        return 0
    }
}

extension StringProtocol {
    /// The whole text without control characters, for a log.
    package var onOneLine: String {
        utf8.allSatisfy { $0 >= 0x20 && $0 < 0x7F } ? String(self) : shownSafely(limit: .max)
    }

    /// The whole text without control characters, except for tabs.
    fileprivate var shownInLine: String {
        split(atOctet: UInt8(ascii: "\t"), omittingEmptyPieces: false).map(\.onOneLine).joined(separator: "\t")
    }
}

/// Lays out JSON on one line, or with one line for each member and element. Tokens stay unchanged. The text may be truncated JSON.
enum JSONLayout {
    /// The deepest level that is indented further than the level around it. Without this limit, the text with indents could be many
    /// times as long as the original text.
    private static let deepestIndent = 16

    /// - Parameter isPretty: whether each member and element has its own line. If this layout is longer than 8 times the length of the
    ///   text plus 4 KiB, the text is laid out on one line.
    static func lines(of bytes: [UInt8], isPretty: Bool) -> [[UInt8]] {
        var lines: [[UInt8]] = []
        var line: [UInt8] = []
        var count = 0
        let limit = 8 * bytes.count + 4096
        var depth = 0
        var string = JSONStringState()
        var isFresh = false  // after an opening bracket: `{}` stays on its line
        func breakLine() {
            guard isPretty else { return }
            lines.append(line)
            // The count includes the indent that the log adds to each line.
            count += line.count + 5
            line = Array(repeating: 0x20, count: 2 * max(0, min(depth, deepestIndent)))
        }
        for byte in bytes {
            if count > limit { return Self.lines(of: bytes, isPretty: false) }
            let role = string.read(byte)
            if role == .text || role == .end {
                line.append(byte)
                continue
            }
            if byte.isSpace { continue }
            let closes = "}]".utf8.contains(byte)
            if closes { depth -= 1 }
            if isFresh != closes, isFresh || closes { breakLine() }
            isFresh = false
            line.append(byte)
            switch byte {
            case UInt8(ascii: "{"), UInt8(ascii: "["):
                depth += 1
                isFresh = true
            case UInt8(ascii: ","): if isPretty { breakLine() }
            case UInt8(ascii: ":"): if isPretty { line.append(0x20) }
            default: break
            }
        }
        return lines + [line]
    }
}
