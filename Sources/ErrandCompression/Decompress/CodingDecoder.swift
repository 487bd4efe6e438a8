internal import ErrandCore

/// Decodes one content coding, piece by piece. It makes at most 64 KiB at a time.
///
/// A body in gzip may have several members, and one in Zstandard several frames. Zeros after the last member of gzip are padding, as for gzip(1).
struct CodingDecoder: Sendable {
    /// The most members in a row without content: each costs far more than its bytes.
    static let emptyMemberLimit = 1_000

    let coding: ContentCoding
    /// `nil` before the first bytes. Copies of a decoder that has begun share it.
    private var codec: (any Codec)?
    /// Whether the last byte of the content, or of the last member, was decoded.
    private(set) var isAtEnd = false
    /// The number of bytes that were made.
    private(set) var decodedBytes = 0
    /// The members in a row without content, and whether the current one has any.
    private var emptyMembers = 0
    private var memberHasContent = false
    /// Whether there were zeros after the end. Only zeros may follow them.
    private var hasPadding = false
    /// Whether the codec may hold decoded bytes that had no room.
    private var mayHoldMore = false

    init(_ coding: ContentCoding) { self.coding = coding }

    /// Returns the next decoded bytes, and removes the bytes that it used from the front of `input`. Returns `nil` if it needs more.
    mutating func decode(_ input: inout Data) throws(ContentDecodingError.Reason) -> Data? {
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
            input = step.used < input.count ? input.dropFirst(step.used) : Data()
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
            if step.used == 0, !isAtEnd || input.isEmpty { return nil }
        }
        return nil
    }

    /// Returns the codec; `nil` if `input` is too short to choose one.
    private mutating func begun(on input: Data) throws(ContentDecodingError.Reason) -> (any Codec)? {
        if let codec { return codec }
        guard input.count >= coding.bytesToBegin else { return nil }
        let begun = try coding.decoder(for: input)
        codec = begun
        return begun
    }
}
