internal import ErrandCore
internal import Synchronization

/// An encoder or a decoder of one content coding, based on a library of the system.
protocol Codec: AnyObject, Sendable {
    /// Consumes bytes from the front of `input`, and produces encoded or decoded bytes.
    ///
    /// - Parameters:
    ///   - limitBytes: the largest number of bytes to produce, at least 1. If the codec produces this number of bytes, it may hold
    ///     further bytes.
    ///   - isLast: whether no bytes follow `input`. If true, an encoder ends the content. A decoder finds the end in the input.
    func step(_ input: Data, upTo limitBytes: Int, isLast: Bool) -> CodecStep

    /// Prepares for the next member of the content: a gzip member, or a Zstandard frame. Only decoders of these codings can be reset: see
    /// ``ContentCoding/hasMember(beginningWith:)``.
    func reset()
}

/// The result of one step of a ``Codec``.
struct CodecStep: Sendable {
    enum Status: Sendable, Equatable {
        case more
        /// The last byte of the content was produced.
        case end
        /// The input is invalid, or there is not enough memory. The value is the reason in words.
        case failed(String)

        static let noMemory = Status.failed("there is not enough memory")
    }

    var status: Status
    /// The number of bytes of the input that were consumed.
    var consumedBytes: Int
    /// The produced bytes.
    var output: Data
}

/// The state of one encoder or decoder of a system library. Only one caller at a time uses the state.
protocol CodecState: ~Copyable {
    mutating func step(
        _ input: UnsafeRawBufferPointer, _ output: UnsafeMutableRawBufferPointer, isLast: Bool
    ) -> (status: CodecStep.Status, consumedBytes: Int, producedBytes: Int)

    /// Prepares for the next member. The default implementation stops the program, because only decoders of codings with members are
    /// reset.
    mutating func reset()
}

extension CodecState where Self: ~Copyable {
    mutating func reset() { preconditionFailure("only decoders of gzip and Zstandard can be reset") }
}

/// A codec whose state only one caller uses at a time.
final class LockedCodec<State: CodecState & ~Copyable>: Codec {
    private let state: Mutex<State>

    /// - Parameter state: the state; `nil` if there was not enough memory.
    init?(_ state: consuming sending State?) {
        guard let state else { return nil }
        self.state = Mutex(state)
    }

    func reset() { state.withLock { $0.reset() } }

    func step(_ input: Data, upTo limitBytes: Int, isLast: Bool) -> CodecStep {
        state.withLock { state in
            var output = Data(count: limitBytes)
            let (status, consumedBytes, producedBytes) = input.withUnsafeBytes { source in
                output.withUnsafeMutableBytes { state.step(source, $0, isLast: isLast) }
            }
            // A small output is copied, because a slice would keep the memory of the whole buffer.
            if producedBytes < limitBytes {
                output = producedBytes > limitBytes / 2 ? output.prefix(producedBytes) : Data(output.prefix(producedBytes))
            }
            return CodecStep(status: status, consumedBytes: consumedBytes, output: output)
        }
    }
}
