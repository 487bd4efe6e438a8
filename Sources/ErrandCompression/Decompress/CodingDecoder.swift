internal import ErrandCore

/// Decodes one content coding, piece by piece. It makes at most 64 KiB at a time.
///
/// A body in gzip may have several members, and one in Zstandard several frames.
struct CodingDecoder: Sendable {
    let coding: ContentCoding
    /// `nil` before the first bytes. Copies of a decoder that has begun share it.
    private var codec: (any Codec)?
    /// Whether the last byte of the content, or of the last member, was decoded.
    private(set) var isAtEnd = false
    /// The number of bytes that were made.
    private(set) var decodedBytes = 0
    /// Whether the codec may hold decoded bytes that had no room.
    private var mayHoldMore = false

    init(_ coding: ContentCoding) { self.coding = coding }

    /// Returns the next decoded bytes, and removes the bytes that it used from the front of `input`. Returns `nil` if it needs more.
    mutating func decode(_ input: inout Data) throws(ContentDecodingError.Reason) -> Data? {
        while !input.isEmpty || mayHoldMore {
            if isAtEnd {
                guard let first = input.first else { return nil }
                guard let codec, coding.hasMember(beginningWith: first) else { throw .trailing(coding) }
                codec.reset()
                isAtEnd = false
            }
            guard let codec = try begun(on: input) else { return nil }
            let limitBytes = min(max(input.count * 4, 1024), BodyPipeline.chunkLimitBytes)
            let step = codec.step(input, upTo: limitBytes, isLast: false)
            input = step.used < input.count ? input.dropFirst(step.used) : Data()
            decodedBytes += step.output.count
            mayHoldMore = step.output.count == limitBytes
            switch step.status {
            case .end: isAtEnd = true
            case .more: break
            case .failed(let reason): throw .corrupt(coding, reason)
            }
            if !step.output.isEmpty { return step.output }
            if step.used == 0, !isAtEnd || input.isEmpty { return nil }
        }
        return nil
    }

    /// Returns the codec; `nil` if `input` is too short to choose one.
    private mutating func begun(on input: Data) throws(ContentDecodingError.Reason) -> (any Codec)? {
        if let codec { return codec }
        guard input.count >= coding.bytesToBegin else { return nil }
        guard let begun = coding.decoder(for: input) else { throw .corrupt(coding, "there is not enough memory") }
        codec = begun
        return begun
    }
}
