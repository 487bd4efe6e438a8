/// The error for a JSON text that can't be decoded as the expected type.
///
/// The description shows the request, the place, the type and the path within the text, but no part of the body:
///
/// ```
/// GET https://a.example/log: line 17: cannot decode LogEntry at user.id: expected Int
/// GET https://a.example/log: text 3: cannot decode LogEntry: the text is cut off
/// ```
public struct JSONTextError: NumberedFailure, Sendable, CustomStringConvertible, HidesStorage {
    /// The place of the text in the body.
    public enum Place: Sendable, Hashable, CustomStringConvertible {
        /// The line with this number, counted from 1.
        case line(Int)
        /// The text with this number in a sequence, counted from 1.
        case text(Int)

        /// The place in words: `line 17`.
        public var description: String {
            switch self {
            case .line(let number): "line \(number)"
            case .text(let number): "text \(number)"
            }
        }
    }

    /// The cause of the error if a text is cut off.
    struct CutOff: Error {}

    /// The request of the body; `nil` if the request is not known.
    public let request: Request?
    /// The place of the text in the body.
    public let place: Place
    /// The name of the type into which the text is decoded.
    public let typeName: String
    /// The path within the text, such as `user.tags[2]`, truncated to 200 characters; empty for the text itself. Keys that are
    /// text of the body are shown as `[…]`.
    public let codingPath: String
    /// The error of the decoder. The error may contain values from the body.
    public let underlying: any Error
    private let problem: String

    init(_ place: Place, _ type: Any.Type, underlying: any Error, of request: Request? = nil) {
        // An app may keep the error for a long time. Therefore the error must not keep the call in memory.
        var request = request
        request?.leaveCall()
        self.request = request
        (self.place, typeName, self.underlying) = (place, ErrandCore.typeName(type), underlying)
        var path: [any CodingKey] = []
        switch underlying as? DecodingError {
        case .typeMismatch(let expected, let context): (path, problem) = (context.codingPath, "expected \(ErrandCore.typeName(expected))")
        case .valueNotFound(let expected, let context):
            path = context.codingPath
            problem = "expected \(ErrandCore.typeName(expected)), found null"
        case .keyNotFound(let key, let context): (path, problem) = (context.codingPath + [key], "no such key")
        case .dataCorrupted(let context):
            path = context.codingPath
            problem = context.codingPath.isEmpty ? "the text is not valid JSON" : "invalid value"
        default: problem = underlying is CutOff ? "the text is cut off" : safeDescription(of: underlying)
        }
        codingPath = shownPath(path, named: path.map(\.stringValue))
    }

    private var happened: String { "\(place): cannot decode \(typeName)\(codingPath.isEmpty ? "" : " at \(codingPath)"): \(problem)" }

    /// The request if it is known, the place, the type, the path and the problem.
    public var description: String { (request.map { "\($0): " } ?? "") + happened }
    public var failureNumber: FailureNumber { .jsonText }
    /// The place, the type, the path and the problem.
    public var failureReason: String? { happened.asSentence }
}

extension JSONTextError: SafelyDescribedError {}
