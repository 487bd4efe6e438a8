#if Telemetry
internal import ErrandFormats

/// The level of detail at which ``LogMiddleware`` logs a call.
///
/// One call at `basic`, `headers` and `body`, in the style ``LogStyle/pretty``:
///
/// ```
/// #1 POST https://api.example/notes?draft=true: 201 in 73 ms
/// ```
///
/// ```
/// #1 POST https://api.example/notes?draft=true: 201 in 73 ms
///   > Authorization: <redacted>
///   > Content-Type: application/json
///   < Location: /notes/7
/// ```
///
/// ```
/// #1 POST https://api.example/notes?draft=true: 201 in 73 ms
///   > Authorization: <redacted>
///   > Content-Type: application/json
///   > body of 33 bytes:
///     {
///       "title": "Milk",
///       "token": "REDACTED"
///     }
///   < Location: /notes/7
///   < body of 8 bytes:
///     {
///       "id": 7
///     }
/// ```
public enum LogDetail: Sendable, Hashable, CustomStringConvertible {
    /// Nothing, not even failures.
    case none
    /// The method, the URL, the time, and the status or the failure. The default. The record of a typed call that fails with a
    /// ``/ErrandCore/StatusError`` also has the first 200 bytes of the body, without secrets.
    case basic
    /// The details of `basic`, and the header fields.
    case headers
    /// The details of `headers`, and the first bytes of both bodies: by default, 4 KiB of each body. `limitBytes` is at least
    /// 0.
    case body(limitBytes: Int = 4096)

    /// `none`, `basic`, `headers` or `body up to 4096 bytes`.
    public var description: String {
        switch self {
        case .none: "none"
        case .basic: "basic"
        case .headers: "headers"
        case .body(let limitBytes): "body up to \(limitBytes.counted("byte"))"
        }
    }

    var showsFields: Bool { self != .none && self != .basic }

    /// The number of bytes of a body that are shown; `nil` if bodies are not shown.
    var bodyLimitBytes: Int? { if case .body(let limitBytes) = self { max(0, limitBytes) } else { nil } }
}

/// The layout of the records of ``LogMiddleware``.
public enum LogStyle: Sendable, Hashable {
    /// One record for each call (inside `retry`: for each attempt), for people who read a console. The default.
    ///
    /// The record is written when the call has a result: the head of the response, the end of a typed call, or a failure. With
    /// ``LogDetail/body(limitBytes:)``, the record is written when the body has been read or abandoned. A call in progress has no record.
    ///
    /// Each field and each line of a body has its own line: `>` marks the request, and `<` marks the response. JSON is indented. Only the
    /// first line begins at the margin.
    ///
    /// ```
    /// #1 GET https://api.example/notes/7: 200 in 21 ms
    /// #2 GET https://api.example/notes/8: 500 in 5 ms
    ///   curl -X GET --path-as-is --globoff 'https://api.example/notes/8' -H 'User-Agent:' -H 'Accept:'
    /// ```
    case pretty
    /// One line for each event, for a file that is searched. There is one line when the request is sent, one when the response's head
    /// arrives, and one when a streamed body ends. Line breaks in a body are shown as `\n`.
    ///
    /// ```
    /// #1 POST https://api.example/notes | Content-Type: application/json | body of 16 bytes: {"title":"Milk"}
    /// #1 POST https://api.example/notes: 201 in 73 ms | Location: /notes/7 | body of 8 bytes: {"id":7}
    /// ```
    case oneLine
}

/// The metadata of a record of ``LogMiddleware``, for back ends that search by keys.
///
/// swift-log's own handler prints the metadata of each record before its message.
public enum LogMetadata: Sendable, Hashable {
    /// No metadata, because the message is enough for a person.
    case none
    /// The metadata that connects the records of a call: `errand.request.id`, and `errand.tag.NAME` for each of
    /// `request.options.tags`. The message does not contain this metadata. The default.
    case ids
    /// All metadata, under the names of OpenTelemetry's conventions. The message also has many of these values: see ``LogMiddleware``.
    case all
}
#endif
