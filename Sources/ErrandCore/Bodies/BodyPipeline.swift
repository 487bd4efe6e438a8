/// What chunks pass between a source and its reader.
enum BodyStage: Sendable {
    case transform(any BodyTransform)
    case observe(BodyObserver)
    /// It sees other bytes than those that pass: the ones from which they were made in memory.
    case tap(BodyTap)
}

/// What goes into a pipeline.
protocol BodyInput {
    /// The next chunk; nil at the end, and from then on.
    func pull() async throws -> Data?
    /// At the end.
    var trailers: HTTPFields? { get }
}

/// The stages of a body, and how far they have come. Owned by one reader.
struct BodyPipeline: Sendable {
    /// The most that a transform hands on at once.
    static let chunkLimitBytes = 64 * 1024

    private var steps: [Step]

    /// - Parameter stages: innermost first.
    init(_ stages: [BodyStage]) { steps = stages.map(Step.init) }

    /// The next chunk of what comes out of the last stage.
    ///
    /// - Parameter input: what goes into the first.
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
        case .transform(var transformation):
            // Moved out, so that it is changed in place.
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

    /// One stage.
    private enum Step: Sendable {
        case transform(BodyTransformation)
        case observe(BodyObserver)
        case tap(BodyTap, isDelivered: Bool)
        /// While it is being asked.
        case nothing

        init(_ stage: BodyStage) {
            self =
                switch stage {
                case .transform(let transform): .transform(BodyTransformation(transform))
                case .observe(let observer): .observe(observer)
                case .tap(let tap): .tap(tap, isDelivered: false)
                }
        }
    }
}
