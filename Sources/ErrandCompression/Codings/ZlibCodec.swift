internal import CZlib

/// A stream of zlib at a fixed address, because zlib keeps a pointer to the stream.
struct ZlibState: ~Copyable, CodecState {
    enum Direction { case decode, encode }

    private let stream: UnsafeMutablePointer<z_stream>
    private let direction: Direction

    /// - Parameter windowBits: 15 for the format of zlib, 31 for gzip, -15 for deflate without a format.
    /// - Returns: `nil` if there is not enough memory. Decoding needs about 40 KiB, and encoding needs about 256 KiB.
    init?(_ direction: Direction, windowBits: Int32) {
        self.direction = direction
        stream = .allocate(capacity: 1)
        stream.initialize(to: z_stream())
        let size = Int32(MemoryLayout<z_stream>.size)
        let status =
            switch direction {
            case .decode: inflateInit2_(stream, windowBits, ZLIB_VERSION, size)
            case .encode:
                deflateInit2_(
                    stream, Z_DEFAULT_COMPRESSION, Z_DEFLATED, windowBits, 8, Z_DEFAULT_STRATEGY, ZLIB_VERSION, size)
            }
        guard status == Z_OK else { return nil }
    }

    deinit {
        switch direction {
        case .decode: _ = inflateEnd(stream)
        case .encode: _ = deflateEnd(stream)
        }
        stream.deinitialize(count: 1)
        stream.deallocate()
    }

    mutating func reset() {
        precondition(direction == .decode, "only a decoder can be reset")
        _ = inflateReset(stream)
    }

    mutating func step(
        _ input: UnsafeRawBufferPointer, _ output: UnsafeMutableRawBufferPointer, isLast: Bool
    ) -> (status: CodecStep.Status, consumedBytes: Int, producedBytes: Int) {
        // zlib requires a mutable pointer, but does not change its input.
        stream.pointee.next_in = UnsafeMutablePointer(mutating: input.bindMemory(to: UInt8.self).baseAddress)
        stream.pointee.avail_in = UInt32(clamping: input.count)
        stream.pointee.next_out = output.bindMemory(to: UInt8.self).baseAddress
        stream.pointee.avail_out = UInt32(clamping: output.count)
        let offered = (input: stream.pointee.avail_in, output: stream.pointee.avail_out)
        let isWhole = Int(offered.input) == input.count
        let status =
            switch direction {
            case .decode: inflate(stream, Z_NO_FLUSH)
            case .encode: deflate(stream, isLast && isWhole ? Z_FINISH : Z_NO_FLUSH)
            }
        return (meaning(of: status), Int(offered.input - stream.pointee.avail_in), Int(offered.output - stream.pointee.avail_out))
    }

    private func meaning(of status: Int32) -> CodecStep.Status {
        switch status {
        case Z_STREAM_END: .end
        case Z_OK, Z_BUF_ERROR: .more
        case Z_NEED_DICT: .failed("the body needs a dictionary")
        case Z_MEM_ERROR: .noMemory
        default: .failed(stream.pointee.msg.map { String(cString: $0) } ?? "the body is invalid")
        }
    }
}
