public import ErrandCore

/// A check that the events of one call are in the order that ``/ErrandCore/ExchangeEvent`` promises.
///
/// ```swift
/// #expect(EventGrammar.violations(recorder.events) == [])
/// ```
public enum EventGrammar {
    /// The order of the events within an exchange.
    private static let steps: [ExchangeEvent.Kind] = [
        .start, .connectionAcquired, .requestHeadSent, .responseHead, .responseBytesReceived, .end,
    ]
    /// The events that may occur at any time between the request's head and the end: a response may begin before the request is complete.
    private static let sending: Set<ExchangeEvent.Kind> = [.requestBytesSent, .requestSent]
    /// The steps of opening a connection, in their order. The steps occur between `start` and `connectionAcquired`.
    private static let connecting: [(start: ExchangeEvent.Kind, end: ExchangeEvent.Kind)] = [
        (.dnsStart, .dnsEnd), (.connectStart, .connectEnd), (.tlsStart, .tlsEnd),
    ]
    private static let pairs: [(ExchangeEvent.Kind, ExchangeEvent.Kind)] = [
        (.queueStart, .queueEnd), (.waitStart, .waitEnd), (.networkWaitStart, .networkWaitEnd),
    ]

    /// Returns the violations, each as a sentence; empty if the order is correct.
    ///
    /// - Parameters:
    ///   - events: all events of one call, in the order in which they were reported.
    ///   - isCall: whether the events belong to a whole call, from `callStart` to `callEnd`. Default: `true`. If false, the events
    ///     belong to single exchanges.
    public static func violations(_ events: [ExchangeEvent], isCall: Bool = true) -> [String] {
        var found: [String] = []
        let kinds = events.map(\.kind)
        if isCall {
            if kinds.first != .callStart || kinds.count(where: { $0 == .callStart }) != 1 {
                found.append("callStart is not the first event, or occurs more than once")
            }
            if kinds.last != .callEnd || kinds.count(where: { $0 == .callEnd }) != 1 {
                found.append("callEnd is not the last event, or occurs more than once")
            }
        }
        if zip(events, events.dropFirst()).contains(where: { $0.instant > $1.instant }) {
            found.append("an event is earlier than the previous event")
        }
        if Set(events.map(\.request)).count > 1 { found.append("the events belong to more than one request") }
        for (start, end) in pairs {
            var open = 0
            for kind in kinds {
                if kind == start { open += 1 }
                if kind == end { open -= 1 }
                if open < 0 { found.append("\(end) without \(start)") }
            }
            if open != 0 { found.append("\(start) without \(end)") }
        }
        var order: [Int] = []
        var exchanges: [Int: [ExchangeEvent]] = [:]
        for event in events {
            guard let number = event.exchange else { continue }
            if exchanges[number] == nil { order.append(number) }
            exchanges[number, default: []].append(event)
        }
        for (index, number) in order.enumerated() {
            found += violations(ofExchange: exchanges[number] ?? []).map { "exchange \(index + 1): \($0)" }
        }
        return found
    }

    private static func violations(ofExchange events: [ExchangeEvent]) -> [String] {
        let kinds = events.map(\.kind)
        var found = violations(ofConnecting: kinds) + violations(ofTimings: events)
        if kinds.first != .start { found.append("begins with \(kinds.first?.description ?? "nothing")") }
        if kinds.last != .end { found.append("ends with \(kinds.last?.description ?? "nothing")") }
        for kind in steps + [.requestSent] where kind != .responseBytesReceived && kinds.count(where: { $0 == kind }) > 1 {
            found.append("\(kind) more than once")
        }
        var reached = 0
        for kind in kinds {
            if sending.contains(kind) {
                if !kinds.prefix(while: { $0 != kind }).contains(.requestHeadSent) { found.append("\(kind) before the request's head") }
            } else if kind == .informationalResponse {
                if reached > 2 { found.append("an informational response comes after the head of the final response") }
            } else if let step = steps.firstIndex(of: kind) {
                if step < reached { found.append("\(kind) after \(steps[reached])") }
                reached = max(reached, step)
            }
        }
        if let sent = kinds.firstIndex(of: .requestSent), kinds[sent...].contains(.requestBytesSent) {
            found.append("bytes are sent after the end of the request")
        }
        for kind in [ExchangeEvent.Kind.requestBytesSent, .responseBytesReceived] {
            let counts = events.filter { $0.kind == kind }.map { $0.bytes ?? -1 }
            if counts != counts.sorted() || counts.contains(where: { $0 < 0 }) { found.append("\(kind) counts \(counts)") }
        }
        if kinds.contains(.responseHead), !kinds.contains(.requestHeadSent) { found.append("a response without a request") }
        return found
    }

    /// Returns the violations in the instants. The instants are reported together at the end of an exchange.
    private static func violations(ofTimings events: [ExchangeEvent]) -> [String] {
        var found: [String] = []
        let indices = events.indices.filter { events[$0].kind == .timings }
        if indices.count > 1 { found.append("timings more than once") }
        guard let index = indices.last else { return found }
        if index + 1 < events.count, events[index + 1].kind != .end { found.append("\(events[index + 1].kind) after timings") }
        guard let timings = events[index].timings else { return found + ["timings without instants"] }
        let steps = timings.steps
        for (step, next) in zip(steps, steps.dropFirst()) where step.instant > next.instant {
            found.append("\(next.name) before \(step.name) in the timings")
        }
        if let first = events.first, steps.contains(where: { $0.instant < first.instant || $0.instant > events[index].instant }) {
            found.append("an instant of the timings is before the start, or after the end")
        }
        return found
    }

    private static func violations(ofConnecting kinds: [ExchangeEvent.Kind]) -> [String] {
        var found: [String] = []
        var open: Int?
        var last: Int?
        var isConnected = false
        for kind in kinds {
            if let step = connecting.firstIndex(where: { $0.start == kind }) {
                if let open { found.append("\(kind) before \(connecting[open].end)") }
                if isConnected { found.append("\(kind) after connectionAcquired") }
                // Another attempt may begin with the lookup or, for an IP address, with the connection. TLS follows the connection.
                if step == 2, last != 1 { found.append("no connection was opened before \(kind)") }
                (open, last) = (step, step)
            } else if let step = connecting.firstIndex(where: { $0.end == kind }) {
                if open != step { found.append("\(kind) without \(connecting[step].start)") }
                open = nil
            } else {
                if let step = open { found.append("\(connecting[step].start) without \(connecting[step].end)") }
                open = nil
                isConnected = isConnected || kind == .connectionAcquired
            }
        }
        return found
    }
}
