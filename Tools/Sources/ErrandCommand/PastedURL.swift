import Foundation

/// Makes what is pasted from a browser or a document into a URL that can be sent.
enum PastedURL {
    /// `text` without white space around it and without its fragment, which is never sent. Spaces, characters outside ASCII and others that
    /// no URL may hold are percent-encoded as UTF-8 in the path and the query. What is valid already stays as it is, escapes included; the
    /// host and control characters are left for the library to judge.
    static func encoded(_ text: String) -> String {
        let trimmed = text.trimmingCharacters(in: .whitespacesAndNewlines)
        let url = trimmed.utf8.firstIndex(of: UInt8(ascii: "#")).map { trimmed[..<$0] } ?? trimmed[...]
        var target = url.startIndex
        if let scheme = url.range(of: "://") { target = scheme.upperBound }
        target = url.utf8[target...].firstIndex { $0 == UInt8(ascii: "/") || $0 == UInt8(ascii: "?") } ?? url.endIndex
        return url[..<target] + percentEncoded(url[target...])
    }

    /// A path or a query in which each octet that is not allowed is an escape.
    static func percentEncoded(_ text: some StringProtocol) -> String {
        let bytes = Array(text.utf8)
        var encoded: [UInt8] = []
        encoded.reserveCapacity(bytes.count)
        for (index, byte) in bytes.enumerated() {
            if mustBeEncoded(byte) || (byte == UInt8(ascii: "%") && !isEscape(bytes[index...])) {
                encoded += "%\(byte < 16 ? "0" : "")\(String(byte, radix: 16, uppercase: true))".utf8
            } else {
                encoded.append(byte)
            }
        }
        return String(decoding: encoded, as: UTF8.self)
    }

    private static func mustBeEncoded(_ byte: UInt8) -> Bool { byte >= 0x80 || " \"<>[]\\^`{|}".utf8.contains(byte) }

    private static func isEscape(_ bytes: ArraySlice<UInt8>) -> Bool {
        bytes.count >= 3 && bytes.dropFirst().prefix(2).allSatisfy { Character(UnicodeScalar($0)).isHexDigit && $0 < 0x80 }
    }
}
