#if Brotli
internal import CBrotli

/// Decodes Brotli ([RFC 7932](https://www.rfc-editor.org/rfc/rfc7932)). The window is at most 16 MiB, because large windows are
/// switched off.
struct BrotliDecoding: ~Copyable, CodecState {
    private let decoder: OpaquePointer

    /// Creates the state; `nil` if there is not enough memory.
    init?() {
        guard let decoder = BrotliDecoderCreateInstance(nil, nil, nil) else { return nil }
        self.decoder = decoder
    }

    deinit { BrotliDecoderDestroyInstance(decoder) }

    mutating func step(
        _ input: UnsafeRawBufferPointer, _ output: UnsafeMutableRawBufferPointer, isLast: Bool
    ) -> (status: CodecStep.Status, consumedBytes: Int, producedBytes: Int) {
        var (left, room) = (input.count, output.count)
        var next = input.bindMemory(to: UInt8.self).baseAddress
        var target = output.bindMemory(to: UInt8.self).baseAddress
        let status: CodecStep.Status
        switch BrotliDecoderDecompressStream(decoder, &left, &next, &room, &target, nil) {
        case BROTLI_DECODER_RESULT_SUCCESS: status = .end
        case BROTLI_DECODER_RESULT_NEEDS_MORE_INPUT, BROTLI_DECODER_RESULT_NEEDS_MORE_OUTPUT: status = .more
        default:
            let name = BrotliDecoderErrorString(BrotliDecoderGetErrorCode(decoder)).map { String(cString: $0) }
            status = .failed("the body is invalid (\(name ?? "unknown error"))")
        }
        return (status, input.count - left, output.count - room)
    }
}

/// Encodes Brotli with quality 5, which takes about as long as gzip and produces fewer bytes.
struct BrotliEncoding: ~Copyable, CodecState {
    private static let quality: UInt32 = 5

    private let encoder: OpaquePointer

    /// Creates the state; `nil` if there is not enough memory.
    init?() {
        guard let encoder = BrotliEncoderCreateInstance(nil, nil, nil) else { return nil }
        _ = BrotliEncoderSetParameter(encoder, BROTLI_PARAM_QUALITY, Self.quality)
        self.encoder = encoder
    }

    deinit { BrotliEncoderDestroyInstance(encoder) }

    mutating func step(
        _ input: UnsafeRawBufferPointer, _ output: UnsafeMutableRawBufferPointer, isLast: Bool
    ) -> (status: CodecStep.Status, consumedBytes: Int, producedBytes: Int) {
        var (left, room) = (input.count, output.count)
        var next = input.bindMemory(to: UInt8.self).baseAddress
        var target = output.bindMemory(to: UInt8.self).baseAddress
        let operation = isLast ? BROTLI_OPERATION_FINISH : BROTLI_OPERATION_PROCESS
        let succeeded = BrotliEncoderCompressStream(encoder, operation, &left, &next, &room, &target, nil) != 0
        let status: CodecStep.Status = !succeeded ? .noMemory : BrotliEncoderIsFinished(encoder) != 0 ? .end : .more
        return (status, input.count - left, output.count - room)
    }
}
#endif
