extension CallProfile: CustomStringConvertible {
    /// The tree as an aligned table. Each layer and each phase has a line with its duration. A layer with inner layers also shows its own
    /// time, without the time of the inner layers. See ``CallProfile`` for a sample.
    ///
    /// The columns begin after the longest name. A name of more than 72 characters is cut off, and ends in `…`.
    public var description: String {
        var rows: [Row] = []
        for layer in layers { Self.add(layer, depth: 0, to: &rows) }
        let width = min(rows.filter { $0.duration != nil }.map(\.name.count).max() ?? 0, Row.longestName)
        let timings = timings
        var last = timings.exchanges.count.counted("request")
        if timings.redirectCount > 0 { last += ", \(timings.redirectCount.counted("redirect"))" }
        if let total = timings.total { last += ", \(total.inWords) from the first request to the last byte" }
        if let duration, let result { last += ", \(duration.inWords) in all, \(result)" }
        return (rows.map { $0.laidOut(width) } + [last]).joined(separator: "\n")
    }

    /// A line of the table.
    private struct Row {
        static let longestName = 72

        var name: String
        /// The duration, as text; `nil` for a line without columns.
        var duration: String?
        var own: String?
        var result: String?

        func laidOut(_ width: Int) -> String {
            guard let duration else { return name }
            let shown = name.count > width ? name.prefix(width - 1) + "…" : name + String(repeating: " ", count: width - name.count)
            var line = shown + duration.leftPadded(11)
            if let own { line += "  own " + own.leftPadded(11) }
            if let result { line += "  \(result)" }
            return line
        }
    }

    private static func add(_ layer: Layer, depth: Int, to rows: inout [Row]) {
        rows.append(
            Row(
                name: String(repeating: "  ", count: depth) + layer.name, duration: layer.duration?.inWords ?? "in progress",
                own: layer.children.isEmpty ? nil : layer.own?.inWords, result: layer.result))
        if let exchange = layer.exchange {
            let indent = String(repeating: "  ", count: depth + 1)
            var what = "\(indent)\(exchange.method) \(exchange.url)"
            if let version = exchange.httpVersion { what += ", \(version)" }
            if let connection = exchange.connection {
                what += ", \(connection.isReused ? "kept" : "new") \(connection.name)"
            }
            rows.append(Row(name: what))
            for phase in exchange.phases {
                var row = Row(name: indent + phase.name, duration: phase.duration.inWords)
                if phase.name == "send", exchange.sentBytes > 0 { row.result = exchange.sentBytes.counted("byte") }
                if phase.name == "receive", exchange.receivedBytes > 0 { row.result = exchange.receivedBytes.counted("byte") }
                rows.append(row)
            }
        }
        for child in layer.children { add(child, depth: depth + 1, to: &rows) }
    }
}

extension String {
    fileprivate func leftPadded(_ width: Int) -> String { String(repeating: " ", count: max(0, width - count)) + self }
}
