internal import CZlib
internal import ErrandCore
internal import Synchronization

/// Decodes gzip ([RFC 1952](https://www.rfc-editor.org/rfc/rfc1952)) or deflate, piece by piece.
///
/// `deflate` is the format of zlib ([RFC 1950](https://www.rfc-editor.org/rfc/rfc1950)). Some servers send its content without that format
/// ([RFC 9110, section 8.4.1.2](https://www.rfc-editor.org/rfc/rfc9110#section-8.4.1.2)): the first two bytes tell them apart. A body in
/// gzip may have several members.
struct Inflater: Sendable {
    /// The most that ``decode(_:)`` makes at a time.
    static let outputLimitBytes = 64 * 1024

    let coding: ContentCoding
    /// `nil` before the first bytes. Copies of an inflater that has begun share it.
    private var stream: InflateStream?
    /// Whether the last byte of the content, or of the last member, was decoded.
    private(set) var isAtEnd = false
    /// The number of bytes that were made.
    private(set) var decodedBytes = 0
    /// Whether zlib may hold decoded bytes that had no room.
    private var mayHoldMore = false

    init(_ coding: ContentCoding) { self.coding = coding }

    /// Returns the next decoded bytes, and removes the bytes that it used from the front of `input`. Returns `nil` if it needs more.
    mutating func decode(_ input: inout Data) throws(ContentDecodingError.Reason) -> Data? {
        while !input.isEmpty || mayHoldMore {
            if isAtEnd {
                guard let first = input.first else { return nil }
                guard coding == .gzip, first == 0x1F, let stream else { throw .trailing(coding) }
                stream.reset()
                isAtEnd = false
            }
            guard let stream = try begun(on: input) else { return nil }
            let limitBytes = min(max(input.count * 4, 1024), Self.outputLimitBytes)
            let step = stream.inflate(input, upTo: limitBytes)
            input = step.used < input.count ? input.dropFirst(step.used) : Data()
            decodedBytes += step.output.count
            mayHoldMore = step.output.count == limitBytes
            switch step.status {
            case Z_STREAM_END: isAtEnd = true
            case Z_OK, Z_BUF_ERROR: break
            case Z_NEED_DICT: throw .corrupt(coding, "the body needs a dictionary")
            case Z_MEM_ERROR: throw .corrupt(coding, "there is not enough memory")
            default: throw .corrupt(coding, step.message ?? "the body is invalid")
            }
            if !step.output.isEmpty { return step.output }
            if step.used == 0, !isAtEnd || input.isEmpty { return nil }
        }
        return nil
    }

    /// Returns the stream; `nil` if `input` does not tell yet which one.
    private mutating func begun(on input: Data) throws(ContentDecodingError.Reason) -> InflateStream? {
        if let stream { return stream }
        let windowBits: Int32
        switch coding {
        case .gzip: windowBits = MAX_WBITS + 16
        case .deflate:
            guard input.count >= 2 else { return nil }
            let (first, second) = (input[input.startIndex], input[input.startIndex + 1])
            let isZlib = first & 0x0F == 8 && (Int(first) << 8 | Int(second)) % 31 == 0
            windowBits = isZlib ? MAX_WBITS : -MAX_WBITS
        }
        guard let begun = InflateStream(windowBits: windowBits) else { throw .corrupt(coding, "there is not enough memory") }
        stream = begun
        return begun
    }
}

/// The state of zlib's `inflate`.
private final class InflateStream: Sendable {
    private let state: Mutex<InflateState>

    /// - Returns: `nil` if there is no memory for it: 40 KiB or so.
    init?(windowBits: Int32) {
        guard let state = InflateState(windowBits: windowBits) else { return nil }
        self.state = Mutex(state)
    }

    func reset() { state.withLock { $0.reset() } }

    func inflate(_ input: Data, upTo limitBytes: Int) -> InflateState.Step { state.withLock { $0.inflate(input, upTo: limitBytes) } }
}

/// A stream of zlib at a fixed address, because zlib keeps a pointer to it.
private struct InflateState: ~Copyable {
    struct Step: Sendable {
        /// zlib's result, such as `Z_STREAM_END`.
        var status: Int32
        /// The number of bytes of the input that were used.
        var used: Int
        /// What was made.
        var output: Data
        /// What zlib says of an error.
        var message: String?
    }

    private let stream: UnsafeMutablePointer<z_stream>

    init?(windowBits: Int32) {
        stream = .allocate(capacity: 1)
        stream.initialize(to: z_stream())
        guard inflateInit2_(stream, windowBits, ZLIB_VERSION, Int32(MemoryLayout<z_stream>.size)) == Z_OK else { return nil }
    }

    deinit {
        _ = inflateEnd(stream)
        stream.deinitialize(count: 1)
        stream.deallocate()
    }

    func reset() { _ = inflateReset(stream) }

    func inflate(_ input: Data, upTo limitBytes: Int) -> Step {
        var output = Data(count: limitBytes)
        var status = Z_OK
        let used = input.withUnsafeBytes { source in
            output.withUnsafeMutableBytes { target in
                // `inflate` does not change its input.
                stream.pointee.next_in = UnsafeMutablePointer(mutating: source.bindMemory(to: UInt8.self).baseAddress)
                stream.pointee.avail_in = UInt32(clamping: source.count)
                stream.pointee.next_out = target.bindMemory(to: UInt8.self).baseAddress
                stream.pointee.avail_out = UInt32(clamping: target.count)
                let offered = stream.pointee.avail_in
                status = CZlib.inflate(stream, Z_NO_FLUSH)
                return Int(offered - stream.pointee.avail_in)
            }
        }
        let made = limitBytes - Int(stream.pointee.avail_out)
        // A slice would keep the memory of the whole.
        if made < limitBytes { output = made > limitBytes / 2 ? output.prefix(made) : Data(output.prefix(made)) }
        return Step(
            status: status, used: used, output: output, message: stream.pointee.msg.map { String(cString: $0) })
    }
}
