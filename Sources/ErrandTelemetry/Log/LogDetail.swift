#if Telemetry
/// How much ``LogMiddleware`` writes of an exchange.
public enum LogDetail: Sendable, Hashable, CustomStringConvertible {
    /// Nothing, not even failures.
    case none
    /// Method and URL; status and time, or the failure.
    case basic
    /// The fields as well.
    case headers
    /// The fields, and the front of both bodies: 4 KiB of each unless told.
    case body(limitBytes: Int = 4096)

    public var description: String {
        switch self {
        case .none: "none"
        case .basic: "basic"
        case .headers: "headers"
        case .body(let limitBytes): "body up to \(limitBytes) bytes"
        }
    }

    var showsFields: Bool { self != .none && self != .basic }

    /// How much of a body is shown; nil where none is.
    var bodyLimitBytes: Int? { if case .body(let limitBytes) = self { max(0, limitBytes) } else { nil } }
}

/// How ``LogMiddleware`` lays out what it writes.
public enum LogStyle: Sendable, Hashable {
    /// One line for each event. Line breaks in a body are shown as `\n`.
    case oneLine
    /// A line for each field and for each line of a body, indented, and JSON laid out; no line but the first begins at the margin.
    case pretty
}
#endif
