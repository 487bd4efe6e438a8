import ErrandFormats

/// The result of a parser for a stream.
struct ParsedStream: Equatable {
    var items: [EventStreamParser.Item] = []
    var error: EventTooLargeError?
    var lastEventID: String
    var reconnectionTime: Duration?

    init(_ chunks: some Sequence<some Sequence<UInt8>>, _ parser: EventStreamParser = EventStreamParser(reportsComments: true)) {
        var parser = parser
        do throws(EventTooLargeError) {
            for chunk in chunks {
                parser.append(chunk)
                while let item = try parser.next() { items.append(item) }
            }
        } catch {
            self.error = error
        }
        (lastEventID, reconnectionTime) = (parser.lastEventID, parser.reconnectionTime)
    }

    init(_ text: String, _ parser: EventStreamParser = EventStreamParser(reportsComments: true)) { self.init([Array(text.utf8)], parser) }

    var events: [ServerSentEvent] { items.compactMap { if case .event(let event) = $0 { event } else { nil } } }
    var comments: [String] { items.compactMap { if case .comment(let text) = $0 { text } else { nil } } }
}

/// The algorithm of the standard, step by step, over a whole text. The code is slow and simple, for comparisons.
struct PlainEventStream {
    var items: [EventStreamParser.Item] = []
    var lastEventID = ""
    var reconnectionTime: Duration?

    init(_ bytes: [UInt8]) {
        var text = Array(String(decoding: bytes, as: UTF8.self).unicodeScalars)
        if text.first == "\u{FEFF}" { text.removeFirst() }
        var (data, type, id) = ("", "", "")
        while let end = text.firstIndex(where: { $0 == "\n" || $0 == "\r" }) {
            let line = text[..<end]
            let isPair = text[end] == "\r" && end + 1 < text.count && text[end + 1] == "\n"
            text = Array(text[(end + (isPair ? 2 : 1))...])
            if line.isEmpty {
                lastEventID = id
                if !data.isEmpty {
                    let event = ServerSentEvent(
                        data: Self.text(data.unicodeScalars.dropLast()), type: type.isEmpty ? "message" : type, lastEventID: id)
                    items.append(.event(event))
                }
                (data, type) = ("", "")
                continue
            }
            guard let colon = line.firstIndex(of: ":") else {
                if Self.text(line) == "data" { data += "\n" }
                if Self.text(line) == "event" { type = "" }
                if Self.text(line) == "id" { id = "" }
                continue
            }
            var value = line[(colon + 1)...]
            if colon == 0 {
                items.append(.comment(Self.text(value)))
                continue
            }
            if value.first == " " { value = value.dropFirst() }
            switch Self.text(line[..<colon]) {
            case "data": data += Self.text(value) + "\n"
            case "event": type = Self.text(value)
            case "id": if !value.contains("\0") { id = Self.text(value) }
            case "retry":
                let isNumber = !value.isEmpty && value.allSatisfy { ("0"..."9").contains($0) }
                if isNumber { reconnectionTime = .milliseconds(Int64(Self.text(value)) ?? .max) }
            default: break
            }
        }
    }

    private static func text(_ scalars: some Sequence<Unicode.Scalar>) -> String {
        var text = String.UnicodeScalarView()
        text.append(contentsOf: scalars)
        return String(text)
    }
}
