/// A stage that chunks pass through between a source and its reader.
enum BodyStage: Sendable {
    case transform(any BodyTransform)
    case observe(BodyObserver)
    /// Reports the bytes that the body had in memory when the observer was added.
    case tap(BodyTap)
    /// Copies the passing bytes to a sink, which may wait.
    case copy(SinkStage)
}

/// The input of a pipeline.
protocol BodyInput {
    /// Returns the next chunk; `nil` at the end, and in all later calls.
    func pull() async throws -> Data?
    /// The trailer fields, available at the end.
    var trailers: HTTPFields? { get }
}

/// The stages of a body, with their state. One reader owns a pipeline.
package struct BodyPipeline: Sendable {
    /// The largest chunk that a transform passes on: 64 KiB.
    package static let chunkLimitBytes = 64 * 1024

    private var steps: [Step]

    /// - Parameter stages: the stages, innermost first.
    init(_ stages: [BodyStage]) { steps = stages.map(Step.init) }

    /// Returns the next chunk of the last stage's output.
    ///
    /// - Parameter input: the input of the first stage.
    mutating func next(_ input: some BodyInput) async throws -> Data? { try await next(of: steps.count - 1, input) }

    private mutating func next(of index: Int, _ input: some BodyInput) async throws -> Data? {
        guard index >= 0 else { return try await input.pull() }
        switch steps[index] {
        case .observe(let observer):
            let chunk = try await next(of: index - 1, input)
            if let chunk { observer.chunk(chunk) } else { observer.end(.complete, trailers: input.trailers) }
            return chunk
        case .tap(let tap, let isDelivered):
            let chunk = try await next(of: index - 1, input)
            if !isDelivered {
                steps[index] = .tap(tap, isDelivered: true)
                if !tap.data.isEmpty { tap.observer.chunk(tap.data) }
            }
            if chunk == nil { tap.observer.end(.complete, trailers: input.trailers) }
            return chunk
        case .copy(let stage):
            let chunk = try await next(of: index - 1, input)
            if let chunk {
                try await stage.sink.write(chunk)
            } else if stage.observer.end(.complete, trailers: input.trailers) {
                try await stage.sink.finish(trailers: input.trailers)
            }
            return chunk
        case .transform(var transformation):
            // If the step stayed in the array, each change would copy its buffers. Therefore the step is moved out of the array.
            steps[index] = .nothing
            defer { steps[index] = .transform(transformation) }
            while true {
                if let chunk = try transformation.output() { return chunk }
                if transformation.isOver { return nil }
                transformation.take(try await next(of: index - 1, input))
            }
        case .nothing: return nil
        }
    }

    /// A stage with its state.
    private enum Step: Sendable {
        case transform(BodyTransformation)
        case observe(BodyObserver)
        case tap(BodyTap, isDelivered: Bool)
        case copy(SinkStage)
        /// The placeholder for a stage that is in use.
        case nothing

        init(_ stage: BodyStage) {
            self =
                switch stage {
                case .transform(let transform): .transform(BodyTransformation(transform))
                case .observe(let observer): .observe(observer)
                case .tap(let tap): .tap(tap, isDelivered: false)
                case .copy(let stage): .copy(stage)
                }
        }
    }
}
