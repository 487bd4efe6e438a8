#if SWIFT_NIO
internal import ErrandCore

/// The field names that most responses use. A lookup of a usual name by the received bytes needs no validation and creates no string.
struct UsualFieldNames {
    /// The meaning of a field for this transport.
    enum Role {
        case none
        case contentLength
        case transferEncoding
        case connection
        case keepAlive
        /// The field `Alt-Svc`.
        case alternatives
        /// A field that has no meaning in trailers, and could be harmful in trailers.
        case notInTrailers

        /// The role of the field with this name.
        init(_ name: HTTPField.Name) {
            self =
                switch name.canonicalName {  // octets: ASCII
                case "content-length": .contentLength
                case "transfer-encoding": .transferEncoding
                case "connection": .connection
                case "keep-alive": .keepAlive
                case "alt-svc": .alternatives
                case "host", "te", "trailer", "upgrade", "proxy-connection", "proxy-authorization": .notInTrailers
                default: .none
                }
        }
    }

    struct Entry {
        let name: HTTPField.Name
        let role: Role
        /// The offset of the name's bytes in ``text``.
        fileprivate let start: Int
        fileprivate let count: Int
    }

    static let shared = UsualFieldNames()

    private let entries: [Entry]
    private let text: [UInt8]
    /// The indices of entries, by hash. Each index is increased by 1, and 0 marks an empty slot.
    private let slots: [UInt8]

    private init() {
        let names = [
            "Accept-Ranges", "Access-Control-Allow-Origin", "Age", "Allow", "Alt-Svc", "Cache-Control", "Connection", "Content-Disposition",
            "Content-Encoding", "Content-Language", "Content-Length", "Content-Range", "Content-Security-Policy", "Content-Type", "Date",
            "ETag", "Expires", "Keep-Alive", "Last-Modified", "Link", "Location", "Pragma", "Referrer-Policy", "Retry-After", "Server",
            "Set-Cookie", "Strict-Transport-Security", "Transfer-Encoding", "Vary", "Via", "X-Cache", "X-Content-Type-Options",
            "X-Frame-Options", "X-Powered-By", "X-Request-Id", "X-XSS-Protection",
        ]
        var (entries, text, slots) = ([Entry](), [UInt8](), [UInt8](repeating: 0, count: 256))
        for name in (names + names.map { $0.lowercased() }).compactMap({ HTTPField.Name($0) }) {
            let bytes = Array(name.rawName.utf8)
            entries.append(Entry(name: name, role: Role(name), start: text.count, count: bytes.count))
            text += bytes
            var slot = bytes.withUnsafeBufferPointer { Self.slot($0) }
            while slots[slot] != 0 { slot = (slot + 1) & 255 }
            slots[slot] = UInt8(entries.count)
        }
        (self.entries, self.text, self.slots) = (entries, text, slots)
    }

    /// Returns the entry of a name with its usual capitalization or in lower case; `nil` for any other name.
    func entry(_ name: UnsafeBufferPointer<UInt8>) -> Entry? {
        guard !name.isEmpty else { return nil }
        var slot = Self.slot(name)
        while slots[slot] != 0 {
            let entry = entries[Int(slots[slot]) - 1]
            if entry.count == name.count, isEqual(name, from: entry.start) { return entry }
            slot = (slot + 1) & 255
        }
        return nil
    }

    private func isEqual(_ name: UnsafeBufferPointer<UInt8>, from start: Int) -> Bool {
        text.withUnsafeBufferPointer { text in
            for index in 0..<name.count where name[index] != text[start &+ index] { return false }
            return true
        }
    }

    /// A hash of the length and of three bytes.
    private static func slot(_ name: UnsafeBufferPointer<UInt8>) -> Int {
        let (first, middle, last) = (Int(name[0]), Int(name[name.count / 2]), Int(name[name.count - 1]))
        return (name.count &* 7 &+ first &* 31 &+ middle &* 3 &+ last &* 17) & 255
    }
}
#endif
