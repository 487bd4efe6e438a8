/// A transform at work.
struct BodyTransformation: Sendable {
    /// Nil while it is being asked.
    private var transform: (any BodyTransform)?
    /// What it has not taken yet.
    private var input = Data()
    /// What is left of an output that was too long.
    private var rest = Data()
    private var isAtEnd = false
    private(set) var isOver = false

    init(_ transform: any BodyTransform) { self.transform = transform }

    /// What comes in; nil at the end.
    mutating func take(_ chunk: Data?) {
        guard let chunk else {
            isAtEnd = true
            return
        }
        // A slice keeps what was cut off its front.
        if input.startIndex > input.count { input = Data(input) }
        if input.isEmpty { input = chunk } else { input.append(chunk) }
    }

    /// What goes out; nil where there is nothing before more comes in, and where it is over.
    mutating func output() throws -> Data? {
        if !rest.isEmpty { return firstOfRest() }
        // Moved out, so that it is changed in place.
        guard !isOver, var transform = transform.take() else { return nil }
        defer { self.transform = transform }
        while true {
            let before = input.count
            let output = isAtEnd ? try transform.finish(&input) : try transform.next(&input)
            guard let output else { break }
            if !output.isEmpty {
                if output.count <= BodyPipeline.chunkLimitBytes { return output }
                rest = output
                return firstOfRest()
            }
            // Nothing came of it: as long as it takes from the input, it may still get on.
            if input.count == before { break }
        }
        if isAtEnd, !input.isEmpty { throw UnconsumedInputError(byteCount: input.count) }
        isOver = isAtEnd
        return nil
    }

    private mutating func firstOfRest() -> Data {
        let first = Data(rest.prefix(BodyPipeline.chunkLimitBytes))
        // A slice: a copy for each piece would be work that grows with the square of the bytes.
        rest = rest.count > first.count ? rest.dropFirst(first.count) : Data()
        return first
    }
}

extension BodyTransform {
    /// All that is made of `data`; nil if that is more than `limitBytes`, or fails.
    func output(of data: Data, upTo limitBytes: Int) -> Data? {
        var transformation = BodyTransformation(self)
        var all = Data()
        do {
            for input in [data, nil] {
                if input?.isEmpty != true { transformation.take(input) }
                while let chunk = try transformation.output() {
                    guard all.count + chunk.count <= limitBytes else { return nil }
                    if all.isEmpty { all = chunk } else { all.append(chunk) }
                }
            }
        } catch {
            return nil
        }
        return all
    }
}
