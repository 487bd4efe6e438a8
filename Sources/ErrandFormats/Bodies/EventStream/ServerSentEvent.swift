/// An event of an event stream
/// ([HTML, section 9.2](https://html.spec.whatwg.org/multipage/server-sent-events.html)).
public struct ServerSentEvent: Sendable, Hashable, CustomStringConvertible, CustomReflectable {
    /// The type of an event that has no `event` field.
    public static let defaultType = "message"

    /// The last event ID of the stream at this event: the ID of this event, or of an earlier event. Empty if the stream has no ID.
    ///
    /// A client that connects again sends the ID as `Last-Event-ID`, so that the server continues after this event.
    public var lastEventID: String
    /// The type of the event: `message` by default.
    public var type: String
    /// The payload. Several `data` lines are joined by LF.
    public var data: String

    /// Creates an event.
    ///
    /// - Parameters:
    ///   - data: the payload.
    ///   - type: the type of the event. Default: `message`.
    ///   - lastEventID: the last event ID of the stream at this event. Default: empty.
    public init(data: String, type: String = defaultType, lastEventID: String = "") {
        (self.lastEventID, self.type, self.data) = (lastEventID, type, data)
    }

    /// The type, the last event ID and the length of the payload: `message 17 (120 bytes)`. The payload is not shown.
    public var description: String {
        "\(Self.shown(type))\(lastEventID.isEmpty ? "" : " " + Self.shown(lastEventID)) (\(data.utf8.count.counted("byte")))"
    }

    /// The description.
    public var customMirror: Mirror { Mirror(self, children: ["event": description]) }

    /// Returns text from the server on one line, with at most 80 characters.
    private static func shown(_ text: String) -> String {
        let shown = text.unicodeScalars.prefix(80).map { scalar -> Unicode.Scalar in
            switch scalar.properties.generalCategory {
            case .control, .format, .lineSeparator, .paragraphSeparator: "\u{FFFD}"
            default: scalar
            }
        }
        return String(String.UnicodeScalarView(shown))
    }
}
