internal import ErrandCore
internal import Synchronization

/// An encoder or a decoder of one content coding, over a library of the system.
protocol Codec: AnyObject, Sendable {
    /// Uses some bytes from the front of `input`, and makes some bytes.
    ///
    /// - Parameters:
    ///   - limitBytes: the most that it makes, at least 1. If it makes as many, it may hold more.
    ///   - isLast: whether nothing follows `input`. An encoder ends then; a decoder finds the end by itself.
    func step(_ input: Data, upTo limitBytes: Int, isLast: Bool) -> CodecStep

    /// Begins anew, for the next member of a coding with members. Only their decoders can: see ``ContentCoding/hasMember(beginningWith:)``.
    func reset()
}

/// What a ``Codec`` did in one step.
struct CodecStep: Sendable {
    enum Status: Sendable, Equatable {
        case more
        /// The last byte of the content was made.
        case end
        /// The input is invalid, or there is no memory: the reason in words.
        case failed(String)

        static let noMemory = Status.failed("there is not enough memory")
    }

    var status: Status
    /// The number of bytes of the input that were used.
    var used: Int
    /// What was made.
    var output: Data
}

/// The state of a library of the system. Only one caller uses it at a time.
protocol CodecState: ~Copyable {
    mutating func step(
        _ input: UnsafeRawBufferPointer, _ output: UnsafeMutableRawBufferPointer, isLast: Bool
    ) -> (status: CodecStep.Status, used: Int, made: Int)

    /// Begins anew. By default, it stops the program: no coding without members, and no encoder, begins anew.
    mutating func reset()
}

extension CodecState where Self: ~Copyable {
    mutating func reset() { preconditionFailure("only the decoder of a coding with members begins anew") }
}

/// A codec over a state that one caller at a time uses.
final class LockedCodec<State: CodecState & ~Copyable>: Codec {
    private let state: Mutex<State>

    init(_ state: consuming sending State) { self.state = Mutex(state) }

    func reset() { state.withLock { $0.reset() } }

    func step(_ input: Data, upTo limitBytes: Int, isLast: Bool) -> CodecStep {
        state.withLock { state in
            var output = Data(count: limitBytes)
            let (status, used, made) = input.withUnsafeBytes { source in
                output.withUnsafeMutableBytes { state.step(source, $0, isLast: isLast) }
            }
            // A slice would keep the memory of the whole.
            if made < limitBytes { output = made > limitBytes / 2 ? output.prefix(made) : Data(output.prefix(made)) }
            return CodecStep(status: status, used: used, output: output)
        }
    }
}
