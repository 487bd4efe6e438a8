internal import ErrandCore
internal import ErrandFormats

extension BodySearch {
    /// Whether the bytes are a form. The items of a form are on one line, and contain no character that every writer of forms escapes. The
    /// media type is not sufficient, because `curl -d` declares any data as a form.
    static func isForm(_ bytes: [UInt8]) -> Bool {
        guard let last = bytes.lastIndex(where: { !$0.isSpace }), let sign = bytes.firstIndex(in: signsOfForm),
            bytes[sign] == UInt8(ascii: "=") || sign > 0 && bytes[sign] == UInt8(ascii: "&")
        else { return false }
        return bytes.firstIndex(in: escapedInForm).map { $0 > last } ?? true
    }

    private static let signsOfForm = ByteSet { "=&:".utf8.contains($0) }
    private static let escapedInForm = ByteSet { $0 <= 0x20 || $0 == 0x7F || "\"<>{}`\\".utf8.contains($0) }

    /// Examines the items of a form.
    ///
    /// - Parameters:
    ///   - isCut: whether the last item may be incomplete. If true, the value of the last item is hidden.
    ///   - isWithin: whether the text is nested in JSON or a form.
    func form(_ bytes: [UInt8], isCut: Bool = false, depth: Depth, isWithin: Bool = false) -> Findings {
        let mention = SecretMention(sensitivity: sensitivity, isWithin: isWithin)
        var found = Findings()
        for item in bytes.split(separator: UInt8(ascii: "&")) {
            let equals = item.firstIndex(of: UInt8(ascii: "="))
            let (name, value) = (item[..<(equals ?? item.endIndex)], equals.map { item[($0 + 1)...] } ?? [])
            // In a nested text, a value that consists only of equals signs is the padding of base64.
            if isWithin, !value.isEmpty, value.allSatisfy({ $0 == UInt8(ascii: "=") }) { continue }
            let text = String(decoding: item, as: UTF8.self)
            if !value.isEmpty, let pair = FormURLEncoded.decode(text).first, mention.isSensitive(pair.name) {
                found.replace(value.indices, value: pair.value)
                continue
            }
            if isCut, item.endIndex == bytes.count {
                let last = equals == nil ? name : value
                if !last.isEmpty { found.replace(last.indices) }
                continue
            }
            var redacted = text
            if depth.texts < JSONRedaction.nestedTextLimit {
                redacted = withoutSecrets(name, depth: depth, &found.values)
                if equals != nil { redacted += "=" + withoutSecrets(value, depth: depth, &found.values) }
            }
            let shown = sensitivity.redactedQuery(redacted)
            if !shown.isExactly(redacted) { found.values += sensitivity.secretValues(inURL: redacted) }
            if !shown.isExactly(text) { found.edits.append(ByteEdit(item.indices, Array(shown.utf8))) }
        }
        return found
    }

    /// Returns a name or a value without the secrets of its decoded text, and adds these secrets to `values`.
    private func withoutSecrets(_ part: ArraySlice<UInt8>, depth: Depth, _ values: inout [String]) -> String {
        let plus = part.map { $0 == UInt8(ascii: "+") ? 0x20 : $0 }
        guard let inner = inner(PercentEncoding.decodedLeniently(String(decoding: plus, as: UTF8.self)), depth: depth.ofText) else {
            return String(decoding: part, as: UTF8.self)
        }
        values += inner.values
        let isEscaped = part.contains { $0 == UInt8(ascii: "%") || $0 == UInt8(ascii: "+") }
        return isEscaped ? String(FormURLEncoded.encode([("", inner.text)]).dropFirst()) : inner.text
    }
}
