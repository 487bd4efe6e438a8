#if Zstandard
internal import CZstd

/// Decodes Zstandard ([RFC 8878](https://www.rfc-editor.org/rfc/rfc8878)), one or more frames. The window is at most 8 MiB
/// ([RFC 9659](https://www.rfc-editor.org/rfc/rfc9659)).
struct ZstandardDecoding: ~Copyable, CodecState {
    private static let maxWindowLog: Int32 = 23

    private let context: OpaquePointer

    /// Creates the state; `nil` if there is not enough memory.
    init?() {
        guard let context = ZSTD_createDCtx() else { return nil }
        self.context = context
        _ = ZSTD_DCtx_setParameter(context, ZSTD_d_windowLogMax, Self.maxWindowLog)
    }

    deinit { _ = ZSTD_freeDCtx(context) }

    mutating func reset() { _ = ZSTD_DCtx_reset(context, ZSTD_reset_session_only) }

    mutating func step(
        _ input: UnsafeRawBufferPointer, _ output: UnsafeMutableRawBufferPointer, isLast: Bool
    ) -> (status: CodecStep.Status, consumedBytes: Int, producedBytes: Int) {
        var source = ZSTD_inBuffer(src: input.baseAddress, size: input.count, pos: 0)
        var target = ZSTD_outBuffer(dst: output.baseAddress, size: output.count, pos: 0)
        let result = ZSTD_decompressStream(context, &target, &source)
        return (zstandardStatus(of: result), source.pos, target.pos)
    }
}

/// Encodes Zstandard at the default level, 3. The window is at most 2 MiB.
struct ZstandardEncoding: ~Copyable, CodecState {
    private let context: OpaquePointer

    /// Creates the state; `nil` if there is not enough memory.
    init?() {
        guard let context = ZSTD_createCCtx() else { return nil }
        self.context = context
    }

    deinit { _ = ZSTD_freeCCtx(context) }

    mutating func step(
        _ input: UnsafeRawBufferPointer, _ output: UnsafeMutableRawBufferPointer, isLast: Bool
    ) -> (status: CodecStep.Status, consumedBytes: Int, producedBytes: Int) {
        var source = ZSTD_inBuffer(src: input.baseAddress, size: input.count, pos: 0)
        var target = ZSTD_outBuffer(dst: output.baseAddress, size: output.count, pos: 0)
        let result = ZSTD_compressStream2(context, &target, &source, isLast ? ZSTD_e_end : ZSTD_e_continue)
        let status = zstandardStatus(of: result)
        return (status == .end && !isLast ? .more : status, source.pos, target.pos)
    }
}

private func zstandardStatus(of result: Int) -> CodecStep.Status {
    guard ZSTD_isError(result) == 0 else { return .failed(String(cString: ZSTD_getErrorName(result))) }
    return result == 0 ? .end : .more
}
#endif
