internal import ErrandCore
internal import ErrandFormats

// This file converts bodies and fields to and from their form in an archive.

/// The form of bytes in an archive: text, or base64 if the bytes are not text.
enum HARText {
    private static let controls = ByteSet { $0 < 0x20 && $0 != 0x09 && $0 != 0x0A && $0 != 0x0D }

    /// Returns the text and its encoding. The text and the encoding are `nil` if there are no bytes.
    static func encode(_ bytes: [UInt8]) -> (text: String?, encoding: String?) {
        if bytes.isEmpty { return (nil, nil) }
        // Some readers of JSON do not preserve control characters and a byte order mark.
        let isPlain = bytes.firstIndex(in: controls) == nil && !bytes.hasByteOrderMark
        if isPlain, let text = String(validating: bytes, as: UTF8.self) { return (text, nil) }
        return (Data(bytes).base64EncodedString(), "base64")
    }

    /// Returns the bytes; `nil` if the base64 is invalid.
    static func decode(_ text: String?, encoding: String?) -> [UInt8]? {
        guard let text else { return [] }
        if encoding?.isExactlyIgnoringCase("base64") == true {
            return Data(base64Encoded: text, options: .ignoreUnknownCharacters).map { Array($0) }
        }
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

    /// The field; `nil` for an invalid name, such as the pseudo-fields of HTTP/2 in a browser's file.
    var field: HTTPField? {
        guard let name = HTTPField.Name(name) else { return nil }
        let value = value ?? ""
        guard encoding?.isExactly("latin1") == true else { return HTTPField(name: name, value: value) }
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

    /// The first value of the field with this name; `nil` if there is no such field.
    subscript(name: HTTPField.Name) -> String? {
        first { $0.name.isExactlyIgnoringCase(name.canonicalName) }?.value
    }
}

extension [HARField] {
    /// Returns the pairs of a form, decoded, in order.
    static func form(_ text: String) -> [HARField] { FormURLEncoded.decode(text).map { HARField(name: $0.name, value: $0.value) } }

    /// Returns the pairs of a query, decoded, in order. A plus sign is not decoded as a space.
    static func query(_ text: some StringProtocol) -> [HARField] {
        FormURLEncoded.decode(text, plusIsSpace: false).map { HARField(name: $0.name, value: $0.value) }
    }
}

extension HARRequest {
    /// The part of ``url`` after its first question mark; `nil` if there is no question mark.
    var query: Substring? {
        url.utf8.firstIndex(of: UInt8(ascii: "?")).map { url[url.utf8.index(after: $0)...] }
    }
}

extension Duration {
    /// The duration in milliseconds, with a precision of one microsecond.
    var milliseconds: Double { ((self / .microseconds(1)).rounded()) / 1000 }
}
