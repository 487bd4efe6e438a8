internal import ErrandCore

/// Decodes a body in one or more content codings, within limits. Each step produces at most 64 KiB.
struct ContentDecoder: BodyTransform {
    /// One stage for each coding, in the order of decoding.
    private var stages: [Stage]
    private let limits: DecompressionLimits
    private let request: Request
    private let response: HTTPResponse
    private var receivedBytes = 0

    private struct Stage {
        var decoder: CodingDecoder
        /// The unused bytes from the previous stage. The first stage uses the bytes of the body instead.
        var input = Data()

        mutating func decode() throws(ContentDecodingError.Code) -> Data? { try decoder.decode(&input) }
    }

    init(_ codings: [ContentCoding], _ limits: DecompressionLimits, request: Request, response: HTTPResponse) {
        stages = codings.map { Stage(decoder: CodingDecoder($0)) }
        (self.limits, self.request, self.response) = (limits, request, response)
    }

    mutating func next(_ input: inout Data) throws -> Data? { try decoded(&input) }

    mutating func finish(_ input: inout Data) throws -> Data? {
        if let output = try decoded(&input) { return output }
        // A body without bytes is empty in every coding.
        guard receivedBytes > 0 || !input.isEmpty else { return nil }
        for (index, stage) in stages.enumerated() {
            // If bytes remain after the end of the content, these bytes are the beginning of an incomplete member.
            if !stage.decoder.isAtEnd || !(index == 0 ? input : stage.input).isEmpty {
                throw ContentDecodingError(.truncated(stage.decoder.coding), request: request, response: response)
            }
        }
        return nil
    }

    private mutating func decoded(_ input: inout Data) throws -> Data? {
        do {
            return try output(of: stages.count - 1, &input)
        } catch {
            throw ContentDecodingError(error, request: request, response: response)
        }
    }

    /// Returns the next bytes of a stage; `nil` if more input is needed.
    private mutating func output(of index: Int, _ input: inout Data) throws(ContentDecodingError.Code) -> Data? {
        while true {
            let output: Data?
            if index == 0 {
                let before = input.count
                output = try stages[0].decoder.decode(&input)
                receivedBytes += before - input.count
            } else {
                output = try stages[index].decode()
            }
            if let output {
                if let code = limits.exceeded(decoded: stages[index].decoder.decodedBytes, received: receivedBytes) { throw code }
                return output
            }
            guard index > 0, let more = try self.output(of: index - 1, &input) else { return nil }
            if stages[index].input.isEmpty { stages[index].input = more } else { stages[index].input.append(more) }
        }
    }
}
