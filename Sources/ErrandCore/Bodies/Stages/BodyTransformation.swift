/// A transform and its state.
struct BodyTransformation: Sendable {
    /// The transform; `nil` while it is in use.
    private var transform: (any BodyTransform)?
    /// The input that the transform has not used yet.
    private var input = Data()
    /// The rest of an output that was larger than one chunk.
    private var rest = Data()
    private var isAtEnd = false
    private(set) var isOver = false

    init(_ transform: any BodyTransform) { self.transform = transform }

    /// Adds input. `nil` marks the end of the input.
    mutating func take(_ chunk: Data?) {
        guard let chunk else {
            isAtEnd = true
            return
        }
        // A slice still holds the memory of the bytes that were removed from its start. A copy releases this memory.
        if input.startIndex > input.count { input = Data(input) }
        if input.isEmpty { input = chunk } else { input.append(chunk) }
    }

    /// Returns the next output; `nil` if the transform needs more input, and after the end.
    mutating func output() throws -> Data? {
        if !rest.isEmpty { return firstOfRest() }
        // If the transform stayed in the property, each change would copy its buffers. Therefore the transform is moved out of the
        // property.
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
            // If the output is empty, the transform makes progress only if it uses input.
            if input.count == before { break }
        }
        if isAtEnd, !input.isEmpty { throw UnconsumedInputError(byteCount: input.count) }
        isOver = isAtEnd
        return nil
    }

    private mutating func firstOfRest() -> Data {
        let first = Data(rest.prefix(BodyPipeline.chunkLimitBytes))
        // The rest is a slice, because copying the rest for each piece would take quadratic time.
        rest = rest.count > first.count ? rest.dropFirst(first.count) : Data()
        return first
    }
}

extension BodyTransform {
    /// Returns the whole output for `data`; `nil` if the output has more than `limitBytes`, or if the transform fails.
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
