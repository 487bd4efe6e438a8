#if SWIFT_NIO
/// The first 9 bytes of a frame ([RFC 9113, section 4.1](https://www.rfc-editor.org/rfc/rfc9113#section-4.1)).
struct FrameHeader: Sendable, Hashable {
    static let bytes = 9

    /// The length of the payload, in bytes.
    let length: Int
    let type: UInt8
    let flags: UInt8
    let stream: UInt32

    /// Reads a header from the first 9 bytes.
    init(_ bytes: UnsafeRawBufferPointer) {
        length = Int(bytes[0]) << 16 | Int(bytes[1]) << 8 | Int(bytes[2])
        (type, flags) = (bytes[3], bytes[4])
        stream = bytes[5..<9].reduce(0) { $0 << 8 | UInt32($1) } & 0x7FFF_FFFF
    }

    /// Whether the payload can be passed on in parts: DATA without padding.
    var isDivisible: Bool { type == 0 && flags & 0x8 == 0 }
    var isReset: Bool { type == 3 }
    /// Whether the frame is a part of a message: DATA, HEADERS or CONTINUATION.
    var isOfMessage: Bool { type == 0 || type == 1 || type == 9 }
}

/// Finds the frames in the bytes of an HTTP/2 server: a value without channels.
///
/// The parser of `NIOHTTP2Handler` frees its buffer only if a read ends at the end of a frame, or within DATA without padding. After any
/// other read, the parser keeps all bytes. Therefore the splitter passes on bytes only up to the last end of a frame, or up to a byte
/// within DATA without padding. The rest of the read bytes waits for more bytes. The rest is at most one frame.
struct FrameSplitter: Sendable {
    /// The result for the received bytes.
    struct Step: Sendable, Hashable {
        /// The number of bytes to pass on.
        let consumed: Int
        /// The number of further bytes that are needed before more bytes can be passed on. The number is 0 if all bytes were passed on, or
        /// if a closure ended the step.
        let missing: Int
    }

    /// The maximum length of a payload that is kept until the payload is complete. Longer payloads are passed on immediately, because
    /// `NIOHTTP2Handler` refuses the frames of these payloads after reading the headers.
    private let longestBytes: Int
    /// The number of missing bytes of a payload whose beginning was passed on.
    private var restBytes = 0
    /// Whether the header at the beginning of the next bytes was reported.
    private var isReported = false

    init(longestBytes: Int) { self.longestBytes = longestBytes }

    /// Examines `bytes`, which begin with the bytes that the last step did not pass on.
    ///
    /// - Parameter report: the closure that gets the header of each frame once, when the header is complete. If the closure returns
    ///   false, the step ends, and no further bytes may be passed on.
    /// - Parameter inspect: the closure that gets the payload of each complete frame. DATA without padding is left out. If the closure
    ///   returns false, the step ends, and no further bytes may be passed on.
    mutating func next(
        in bytes: UnsafeRawBufferPointer, report: (FrameHeader) -> Bool,
        inspect: (FrameHeader, UnsafeRawBufferPointer) -> Bool = { _, _ in true }
    ) -> Step {
        var position = 0
        while true {
            let count = min(restBytes, bytes.count - position)
            position += count
            restBytes -= count
            let left = bytes.count - position
            if left == 0 { return Step(consumed: position, missing: 0) }
            guard left >= FrameHeader.bytes else { return Step(consumed: position, missing: FrameHeader.bytes - left) }
            let header = FrameHeader(UnsafeRawBufferPointer(rebasing: bytes[position...]))
            if !isReported {
                isReported = true
                guard report(header) else { return Step(consumed: position, missing: 0) }
            }
            let whole = FrameHeader.bytes + header.length
            if header.isDivisible || header.length > longestBytes {
                position += FrameHeader.bytes
                restBytes = header.length
            } else if left >= whole {
                let payload = bytes[(position + FrameHeader.bytes)..<(position + whole)]
                guard inspect(header, UnsafeRawBufferPointer(rebasing: payload)) else { return Step(consumed: position, missing: 0) }
                position += whole
            } else {
                return Step(consumed: position, missing: whole - left)
            }
            isReported = false
        }
    }
}
#endif
