import ErrandFormats
import Foundation

/// The bytes of one run. The first ones are settings, such as where the chunks end, and the rest is what the parser reads.
struct Input {
    private var rest: ArraySlice<UInt8>

    init(_ bytes: [UInt8]) { rest = bytes[...] }

    /// A setting; 0 where no bytes are left.
    mutating func byte() -> UInt8 { rest.popFirst() ?? 0 }

    /// The next bytes, at most 255: their number comes first.
    mutating func shortBytes() -> [UInt8] {
        let count = min(Int(byte()), rest.count)
        defer { rest = rest.dropFirst(count) }
        return Array(rest.prefix(count))
    }

    mutating func shortText() -> String { String(decoding: shortBytes(), as: UTF8.self) }

    /// All bytes that are left.
    mutating func bytes() -> [UInt8] {
        defer { rest = [] }
        return Array(rest)
    }

    mutating func text() -> String { String(decoding: bytes(), as: UTF8.self) }

    var isEmpty: Bool { rest.isEmpty }
}

/// The chunks in which a body arrives: as a whole, byte by byte, and in pieces that depend on `seed`.
func divisions(of bytes: [UInt8], seed: UInt8) -> [[[UInt8]]] {
    var divisions = [[bytes], pieces(of: bytes, seed: seed)]
    if bytes.count <= 512 { divisions.append(bytes.map { [$0] }) }
    return divisions
}

/// Pieces of 0 to 2, up to 0 to 256 bytes.
func pieces(of bytes: [UInt8], seed: UInt8) -> [[UInt8]] {
    var pieces: [[UInt8]] = []
    var (start, state) = (0, UInt32(seed) &* 2_654_435_761 &+ 1)
    let longest = 2 << UInt32(seed & 7)
    while start < bytes.count {
        state = state &* 1_664_525 &+ 1_013_904_223
        let end = min(bytes.count, start + Int((state >> 8) % UInt32(longest + 1)))
        pieces.append(Array(bytes[start..<end]))
        start = end
    }
    return pieces
}

/// Stops the process, which libFuzzer reports with the input.
func fail(_ message: String) -> Never {
    FileHandle.standardError.write(Data("== broken: \(message)\n".utf8))
    abort()
}

func expect(_ condition: Bool, _ message: @autoclosure () -> String) {
    if !condition { fail(message()) }
}

func expectEqual<Value: Equatable>(_ first: Value, _ second: Value, _ message: @autoclosure () -> String) {
    if first != second { fail("\(message()):\n  \(String(reflecting: first))\n  \(String(reflecting: second))") }
}

/// Returns what `body` throws, as text; `nil` if it throws nothing.
func thrown(_ body: () throws -> Void) -> String? {
    do {
        try body()
        return nil
    } catch {
        return "\(error)"
    }
}

extension Sequence<UInt8> {
    var text: String { String(decoding: Array(self), as: UTF8.self) }
}

extension Collection<UInt8> {
    func contains(bytes other: [UInt8]) -> Bool {
        guard !other.isEmpty else { return true }
        let all = Array(self)
        return ByteSearch(other).isIn(all)
    }
}

extension ByteSearch {
    func isIn(_ bytes: [UInt8]) -> Bool { bytes.withUnsafeBytes { firstIndex(in: $0) != nil } }
}

func environment(_ name: String) -> String? { getenv(name).map { String(cString: $0) } }

func endProcess() -> Never {
    fflush(nil)
    exit(0)
}
