internal import ErrandCore

/// Encodes a body in a content coding. Each step produces at most 64 KiB.
struct ContentEncoder: BodyTransform {
    private let coding: ContentCoding
    /// The codec; `nil` before the first bytes. After the first bytes, copies of the encoder share the codec.
    private var codec: (any Codec)?
    private var isAtEnd = false

    init(_ coding: ContentCoding) { self.coding = coding }

    mutating func next(_ input: inout Data) throws -> Data? {
        while !input.isEmpty {
            let used = input.count
            if let output = try encoded(&input, isLast: false) { return output }
            if input.count == used { return nil }
        }
        return nil
    }

    mutating func finish(_ input: inout Data) throws -> Data? {
        while !isAtEnd {
            if let output = try encoded(&input, isLast: true) { return output }
        }
        return nil
    }

    private mutating func encoded(_ input: inout Data, isLast: Bool) throws -> Data? {
        let codec = try begun()
        let step = codec.step(input, upTo: BodyPipeline.chunkLimitBytes, isLast: isLast)
        input = step.consumedBytes < input.count ? input.dropFirst(step.consumedBytes) : Data()
        switch step.status {
        case .end: isAtEnd = true
        case .more: break
        case .failed(let reason): throw ContentEncodingError(coding: coding, reason: reason)
        }
        return step.output.isEmpty ? nil : step.output
    }

    private mutating func begun() throws -> any Codec {
        if let codec { return codec }
        guard let begun = coding.encoder() else { throw ContentEncodingError(coding: coding, reason: "there is not enough memory") }
        codec = begun
        return begun
    }
}

/// The error for a request body that can't be encoded.
struct ContentEncodingError: SafelyDescribedError {
    let coding: ContentCoding
    let reason: String
    var description: String { "the body of the request can't be encoded: \(coding.rawValue): \(reason)" }
}
