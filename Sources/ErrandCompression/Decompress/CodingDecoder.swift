internal import ErrandCore

/// Decodes one content coding, piece by piece. Each step produces at most 64 KiB.
///
/// A gzip body may have several members, and a Zstandard body may have several frames. Zeros after the last member of gzip are padding,
/// which the program gzip(1) also ignores.
struct CodingDecoder: Sendable {
    /// The largest number of successive members without content. An empty member has few bytes, but its decoding takes a long time.
    static let emptyMemberLimit = 1_000

    let coding: ContentCoding
    /// The codec; `nil` before the first bytes. After the first bytes, copies of the decoder share the codec.
    private var codec: (any Codec)?
    /// Whether the last byte of the content, or of the last member, was decoded.
    private(set) var isAtEnd = false
    /// The number of decoded bytes.
    private(set) var decodedBytes = 0
    /// The number of successive members without content, and whether the current member has content.
    private var emptyMembers = 0
    private var memberHasContent = false
    /// Whether zeros came after the end of the content. Only further zeros may follow.
    private var hasPadding = false
    /// Whether the codec may hold decoded bytes that did not fit into the last output.
    private var mayHoldMore = false

    init(_ coding: ContentCoding) { self.coding = coding }

    /// Returns the next decoded bytes, and removes the used bytes from the front of `input`. Returns `nil` if more bytes are needed.
    mutating func decode(_ input: inout Data) throws(ContentDecodingError.Code) -> Data? {
        while !input.isEmpty || mayHoldMore {
            if isAtEnd {
                guard let codec else { return nil }
                if coding.mayHavePadding, input.first == 0 {
                    hasPadding = true
                    input = Data(input.drop { $0 == 0 })
                    if input.isEmpty { return nil }
                }
                if hasPadding { throw .trailing(coding) }
                switch coding.hasMember(beginningWith: input) {
                case true?: break
                case false?: throw .trailing(coding)
                case nil: return nil
                }
                codec.reset()
                (isAtEnd, memberHasContent) = (false, false)
            }
            guard let codec = try begun(on: input) else { return nil }
            let limitBytes = min(max(input.count * 4, 1024), BodyPipeline.chunkLimitBytes)
            let step = codec.step(input, upTo: limitBytes, isLast: false)
            input = step.consumedBytes < input.count ? input.dropFirst(step.consumedBytes) : Data()
            decodedBytes += step.output.count
            mayHoldMore = step.status != .end && step.output.count == limitBytes
            switch step.status {
            case .end:
                isAtEnd = true
                emptyMembers = memberHasContent || !step.output.isEmpty ? 0 : emptyMembers + 1
                guard emptyMembers <= Self.emptyMemberLimit else { throw .tooManyEmptyMembers(coding, limit: Self.emptyMemberLimit) }
            case .more: break
            case .failed(let reason): throw .corrupt(coding, reason)
            }
            if !step.output.isEmpty {
                memberHasContent = true
                return step.output
            }
            if step.consumedBytes == 0, !isAtEnd || input.isEmpty { return nil }
        }
        return nil
    }

    /// Returns the codec; `nil` if `input` is too short to choose a codec.
    private mutating func begun(on input: Data) throws(ContentDecodingError.Code) -> (any Codec)? {
        if let codec { return codec }
        guard input.count >= coding.bytesToBegin else { return nil }
        let begun = try coding.decoder(for: input)
        codec = begun
        return begun
    }
}
