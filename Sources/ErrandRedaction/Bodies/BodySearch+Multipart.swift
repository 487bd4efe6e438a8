internal import ErrandCore
internal import ErrandFormats

extension BodySearch {
    /// Examines the parts of a multipart body. The text around the parts is hidden.
    func multipart(_ bytes: [UInt8], boundary: String?, isCut: Bool, depth: Depth) -> Findings {
        let parts = MultipartSection.parts(of: bytes, boundary: boundary, includingFragments: true)
        let delimiters = MultipartSection.delimiters(of: boundary, in: bytes)
        // If some parts can't be examined, the whole body is hidden, because these parts may contain secrets.
        guard depth.parts < MultipartSection.maxDepth, !parts.isEmpty, parts.count == delimiters.count else {
            return Findings(hiding: bytes)
        }
        var found = Findings()
        var done = 0
        let strictEnds = Self.strictEnds(of: parts, at: delimiters, in: bytes, boundary: boundary, isCut: isCut)
        for (index, part) in parts.enumerated() where delimiters[index] >= done {
            found.hide(done..<delimiters[index], of: bytes)
            var start = delimiters[index] + 2 + (boundary?.utf8.count ?? 0)
            if bytes[start...].starts(with: "--".utf8) { start += 2 }
            // Without an empty line, the whole fragment may be a secret.
            if part.isFragment {
                done = max(start, part.head.upperBound)
                found.hide(start..<done, of: bytes)
                continue
            }
            found.hide(start..<max(start, part.head.lowerBound), of: bytes)
            hideFields(part.head, of: bytes, in: &found)
            var range = part.content
            let isSecret = part.names.contains(where: SecretMention(sensitivity: sensitivity, isWithin: false).isSensitive)
            // Some readers do not accept a delimiter after LF alone as the end of the part.
            if isSecret, let end = strictEnds[index], end > range.upperBound { range = range.lowerBound..<end }
            let content = Array(bytes[range])
            if isSecret {
                found.replace(range, value: String(decoding: content, as: UTF8.self))
            } else {
                found.add(
                    findings(in: content, of: part, isCut: isCut && range.upperBound == bytes.count, depth: depth), at: range.lowerBound)
            }
            done = range.upperBound
        }
        found.hide(done..<bytes.count, of: bytes)
        return found
    }

    /// Examines the content of a part. If the part has no type, its content is the value of a form.
    private func findings(in content: [UInt8], of part: MultipartSection, isCut: Bool, depth: Depth) -> Findings {
        if let type = part.type { return findings(in: content, type: MediaType(type), isCut: isCut, depth: depth.ofPart) }
        if keepsBinary, !TextDetection.isText(content, type: nil) { return Findings() }
        guard !isCut, let text = String(validating: content, as: UTF8.self) else { return Findings(hiding: content) }
        guard let inner = inner(text, depth: depth.ofText, isWithin: false) else { return Findings() }
        return Findings(edits: [ByteEdit(0..<content.count, Array(inner.text.utf8))], values: inner.values)
    }

    /// Hides lines that are not fields, and hides the values of fields that are secret or seem to name a secret.
    private func hideFields(_ head: Range<Int>, of bytes: [UInt8], in found: inout Findings) {
        let mention = SecretMention(sensitivity: sensitivity, isWithin: false)
        var field = head.lowerBound..<head.lowerBound
        func endField() {
            let text = Array(bytes[field])
            guard let colon = bytes[field].firstIndex(of: UInt8(ascii: ":")) else { return found.hide(field, of: bytes) }
            let name = String(decoding: bytes[field.lowerBound..<colon], as: UTF8.self).trimmingOptionalWhitespace()
            guard let name = HTTPField.Name(name) else { return found.hide(field, of: bytes) }
            if sensitivity.isSensitive(name) || mention.isIn(text) { found.hide((colon + 1)..<field.upperBound, of: bytes) }
        }
        for line in bytes[head].split(whereSeparator: { $0 == 0x0A || $0 == 0x0D }) {
            if !" \t".utf8.contains(line[line.startIndex]) {
                endField()
                field = line.indices
            } else {
                field = field.lowerBound..<line.endIndex
            }
        }
        endField()
    }

    /// Returns the end of each part for a reader that ends lines only at CR LF. The end is `nil` for a part that such a reader does not
    /// find. The end is also `nil` for a part without an end, unless more bytes follow.
    private static func strictEnds(
        of parts: [MultipartSection], at delimiters: [Int], in bytes: [UInt8], boundary: String?, isCut: Bool
    ) -> [Int?] {
        func isLineEnd(before index: Int) -> Bool { index >= 2 && bytes[index - 2] == 0x0D && bytes[index - 1] == 0x0A }
        let length = 2 + (boundary?.utf8.count ?? 0)
        let ends = delimiters.filter { start in
            isLineEnd(before: start) && (start + length == bytes.count || bytes[start + length] != 0x0A)
        }
        var next = ends.endIndex
        var found: [Int?] = []
        for part in parts.reversed() {
            while next > 0, ends[next - 1] - 2 >= part.content.lowerBound { next -= 1 }
            let end = next < ends.endIndex ? ends[next] - 2 : isCut ? bytes.count : nil
            found.append(isLineEnd(before: part.head.lowerBound) ? end : nil)
        }
        return found.reversed()
    }
}
