internal import ErrandCore
internal import ErrandFormats

// Bodies and fields between what they are and how an archive writes them.

/// Bytes as an archive has them: text where they are text, else base64.
enum HARText {
    private static let controls = ByteSet { $0 < 0x20 && $0 != 0x09 && $0 != 0x0A && $0 != 0x0D }

    /// Nil for no bytes.
    static func encode(_ bytes: [UInt8]) -> (text: String?, encoding: String?) {
        if bytes.isEmpty { return (nil, nil) }
        // Control characters and a byte order mark do not survive every reader of JSON.
        let isPlain = bytes.firstIndex(in: controls) == nil && !bytes.starts(with: [0xEF, 0xBB, 0xBF])
        if isPlain, let text = String(validating: bytes, as: UTF8.self) { return (text, nil) }
        return (Data(bytes).base64EncodedString(), "base64")
    }

    /// Nil where the base64 is none.
    static func decode(_ text: String?, encoding: String?) -> [UInt8]? {
        guard let text else { return [] }
        if encoding?.lowercased() == "base64" { return Data(base64Encoded: text, options: .ignoreUnknownCharacters).map { Array($0) } }
        return Array(text.utf8)
    }
}

extension HARPostData {
    var bytes: [UInt8] {
        get { HARText.decode(text, encoding: encoding) ?? [] }
        set { (text, encoding) = HARText.encode(newValue) }
    }
}

extension HARContent {
    var bytes: [UInt8] {
        get { HARText.decode(text, encoding: encoding) ?? [] }
        set { (text, encoding) = HARText.encode(newValue) }
    }
}

extension HARField {
    init(_ field: HTTPField) {
        let bytes = field.withUnsafeBytesOfValue { Array($0) }
        if let text = String(validating: bytes, as: UTF8.self) {
            self.init(name: field.name.rawName, value: text)
        } else {
            var text = ""
            for byte in bytes { text.unicodeScalars.append(Unicode.Scalar(byte)) }
            self.init(name: field.name.rawName, value: text, encoding: "latin1")
        }
    }

    /// Nil for what is no field, such as the pseudo-fields of HTTP/2 in a browser's file.
    var field: HTTPField? {
        guard let name = HTTPField.Name(name) else { return nil }
        let value = value ?? ""
        guard encoding == "latin1" else { return HTTPField(name: name, value: value) }
        return HTTPField(name: name, value: value.unicodeScalars.map { UInt8(truncatingIfNeeded: $0.value) })
    }
}

extension [HARField] {
    init(_ fields: HTTPFields) { self = fields.map(HARField.init) }

    var fields: HTTPFields {
        var fields = HTTPFields()
        for field in compactMap(\.field) { fields.append(field) }
        return fields
    }

    /// The first value of the field with this name; nil if there is none.
    subscript(name: HTTPField.Name) -> String? {
        first { $0.name.lowercased() == name.canonicalName }?.value
    }
}

extension [HARField] {
    /// The pairs of a form, unescaped, in order.
    static func form(_ text: String) -> [HARField] { FormURLEncoded.decode(text).map { HARField(name: $0.name, value: $0.value) } }

    /// The pairs of a query, unescaped, in order; a plus is a plus.
    static func query(_ text: some StringProtocol) -> [HARField] {
        FormURLEncoded.decode(text, plusIsSpace: false).map { HARField(name: $0.name, value: $0.value) }
    }
}

extension HARRequest {
    /// The part of ``url`` behind its first question mark; nil if there is none.
    var query: Substring? {
        url.utf8.firstIndex(of: UInt8(ascii: "?")).map { url[url.utf8.index(after: $0)...] }
    }
}

extension Duration {
    /// To the microsecond.
    var milliseconds: Double { ((self / .microseconds(1)).rounded()) / 1000 }
}
