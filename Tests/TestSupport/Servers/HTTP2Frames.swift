#if MockServer
/// A frame of HTTP/2 as bytes (RFC 9113, 4.1), valid or not.
public struct H2Frame: Sendable, Hashable {
    public var type: UInt8
    public var flags: UInt8
    public var stream: UInt32
    public var payload: [UInt8]
    /// `nil`: the payload's own.
    public var declaredLength: Int?

    public init(type: UInt8, flags: UInt8 = 0, stream: UInt32 = 0, payload: [UInt8] = [], declaredLength: Int? = nil) {
        (self.type, self.flags, self.stream) = (type, flags, stream)
        (self.payload, self.declaredLength) = (payload, declaredLength)
    }

    public var bytes: [UInt8] {
        let length = declaredLength ?? payload.count
        return [UInt8(length >> 16 & 0xFF), UInt8(length >> 8 & 0xFF), UInt8(length & 0xFF), type, flags] + stream.octets + payload
    }

    public static let endStream: UInt8 = 0x1
    public static let endHeaders: UInt8 = 0x4
    public static let ack: UInt8 = 0x1

    public static func data(_ stream: UInt32, _ payload: [UInt8], ends: Bool = true) -> H2Frame {
        H2Frame(type: 0, flags: ends ? endStream : 0, stream: stream, payload: payload)
    }

    /// `block` is in HPACK: 0x88 is `:status: 200`.
    public static func headers(_ stream: UInt32, _ block: [UInt8] = [0x88], ends: Bool = false) -> H2Frame {
        H2Frame(type: 1, flags: endHeaders | (ends ? endStream : 0), stream: stream, payload: block)
    }

    public static func reset(_ stream: UInt32, code: UInt32) -> H2Frame { H2Frame(type: 3, stream: stream, payload: code.octets) }

    public static func settings(_ values: [(UInt16, UInt32)] = []) -> H2Frame {
        H2Frame(type: 4, payload: values.flatMap { [UInt8($0.0 >> 8), UInt8($0.0 & 0xFF)] + $0.1.octets })
    }

    public static let settingsAck = H2Frame(type: 4, flags: ack)

    public static func maxStreams(_ count: UInt32) -> H2Frame { settings([(3, count)]) }

    public static func pushPromise(_ stream: UInt32, promised: UInt32) -> H2Frame {
        // GET, https, /, and an authority
        let block: [UInt8] = [0x82, 0x87, 0x84, 0x01, 0x01, UInt8(ascii: "a")]
        return H2Frame(type: 5, flags: endHeaders, stream: stream, payload: promised.octets + block)
    }

    public static let ping = H2Frame(type: 6, payload: Array(repeating: 7, count: 8))

    public static func goAway(last: UInt32 = 0, code: UInt32 = 0) -> H2Frame { H2Frame(type: 7, payload: last.octets + code.octets) }

    public static func windowUpdate(_ stream: UInt32, by increment: UInt32) -> H2Frame {
        H2Frame(type: 8, stream: stream, payload: increment.octets)
    }

    /// `:status` with these three digits.
    public static func status(_ digits: String) -> [UInt8] { [0x08, UInt8(digits.utf8.count)] + Array(digits.utf8) }
}

extension UInt32 {
    fileprivate var octets: [UInt8] { [UInt8(self >> 24), UInt8(self >> 16 & 0xFF), UInt8(self >> 8 & 0xFF), UInt8(self & 0xFF)] }
}

extension Sequence<H2Frame> {
    /// All of them in one write.
    public var together: [ByteAction] { [.write(flatMap(\.bytes))] }
    /// Each in a write of its own.
    public var apart: [ByteAction] { map { .write($0.bytes) } }
}

/// Splits what a client writes into frames.
public struct H2Reader {
    private var bytes: [UInt8] = []
    private var hasPreface = false

    public init() {}

    public mutating func read(_ more: [UInt8]) -> [H2Frame] {
        bytes += more
        if !hasPreface {
            guard bytes.count >= 24 else { return [] }
            bytes.removeFirst(24)
            hasPreface = true
        }
        var frames: [H2Frame] = []
        var start = 0
        while bytes.count - start >= 9 {
            let length = Int(bytes[start]) << 16 | Int(bytes[start + 1]) << 8 | Int(bytes[start + 2])
            guard bytes.count - start >= 9 + length else { break }
            let stream = bytes[start + 5..<start + 9].reduce(UInt32(0)) { $0 << 8 | UInt32($1) } & 0x7FFF_FFFF
            let payload = Array(bytes[start + 9..<start + 9 + length])
            frames.append(H2Frame(type: bytes[start + 3], flags: bytes[start + 4], stream: stream, payload: payload))
            start += 9 + length
        }
        bytes.removeFirst(start)
        return frames
    }
}

/// Does on each connection what closures say, frame by frame.
public final class FrameScript: ByteScript {
    private var reader = H2Reader()
    private let open: () -> [ByteAction]
    private let respond: (H2Frame) -> [ByteAction]

    public init(opened: @escaping () -> [ByteAction], respond: @escaping (H2Frame) -> [ByteAction]) {
        (open, self.respond) = (opened, respond)
    }

    public func opened() -> [ByteAction] { open() }
    public func received(_ bytes: [UInt8]) -> [ByteAction] { reader.read(bytes).flatMap(respond) }
}
#endif
