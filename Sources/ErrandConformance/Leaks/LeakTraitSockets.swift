internal import ErrandCore

/// The network sockets of this process, by the names of their descriptors. Reads the tables in `/proc/self/net` (proc(5)).
struct SocketTable {
    private var descriptions: [String: String] = [:]

    init() {
        for (table, name) in [("tcp", "TCP"), ("tcp6", "TCP"), ("udp", "UDP"), ("udp6", "UDP")] {
            // The columns are: sl, local, remote, state, …, inode.
            for words in Self.lines(of: table) where words.count > 9 {
                let local = Self.address(words[1])
                let state = name == "TCP" ? " (\(Self.states[String(words[3])] ?? "state \(words[3])"))" : ""
                let isListening = words[3] == "0A"
                let way = isListening || words[2].hasSuffix(":0000") ? local : "\(local) → \(Self.address(words[2]))"
                descriptions["socket:[\(words[9])]"] = "a \(name) socket \(way)\(state)"
            }
        }
        // The columns are: num, refcount, protocol, flags, type, state, inode, path.
        for words in Self.lines(of: "unix") where words.count > 6 {
            descriptions["socket:[\(words[6])]"] = "a local socket" + (words.count > 7 ? " \(words[7])" : "")
        }
    }

    func description(of target: String) -> String { descriptions[target] ?? "a socket without an address" }

    private static let states = [
        "01": "established", "02": "connecting", "03": "being accepted", "04": "closing", "05": "closing", "06": "closing", "07": "closed",
        "08": "closed by the other side", "09": "closing", "0A": "listening", "0B": "closing",
    ]

    private static func lines(of table: String) -> [[Substring]] {
        let path = "/proc/self/net/\(table)"
        guard let file = try? ReadOnlyFile(path: path) else { return [] }
        // For a file in `/proc`, the system reports a length of zero, and each read returns one page.
        var bytes = Data()
        while let part = try? file.read(count: 64 * 1024, at: Int64(bytes.count), path: path), !part.isEmpty { bytes.append(part) }
        return String(decoding: bytes, as: UTF8.self).split(separator: "\n").dropFirst().map { $0.split(separator: " ") }
    }

    /// Returns an address as text: `0100007F:1F90` is 127.0.0.1:8080. The words are in the machine's byte order.
    static func address(_ text: Substring) -> String {
        let parts = text.split(separator: ":")
        guard parts.count == 2, let port = UInt16(parts[1], radix: 16) else { return String(text) }
        var digits = parts[0]
        var octets: [UInt8] = []
        while digits.count >= 8, let word = UInt32(digits.prefix(8), radix: 16) {
            withUnsafeBytes(of: word) { octets += $0 }
            digits = digits.dropFirst(8)
        }
        if octets.count == 4 { return octets.map { "\($0)" }.joined(separator: ".") + ":\(port)" }
        guard octets.count == 16 else { return String(text) }
        let groups = stride(from: 0, to: 16, by: 2).map { String(Int(octets[$0]) << 8 | Int(octets[$0 + 1]), radix: 16) }
        let written = groups.joined(separator: ":")
        // Only the loopback and "any" addresses are abbreviated, because other addresses do not occur in tests.
        let zeros = "0:0:0:0:0:0:0:"
        return
            "[\(written.hasPrefix(zeros) ? "::" + (written == zeros + "0" ? "" : String(written.dropFirst(zeros.count))) : written)]:\(port)"
    }
}
