extension CallProfile: CustomStringConvertible {
    /// The tree, a line for each layer and each phase: how long it took, and how much of that was its own.
    public var description: String {
        var lines: [String] = []
        for layer in layers { Self.add(layer, depth: 0, to: &lines) }
        let timings = timings
        var last = "\(timings.exchanges.count) \(timings.exchanges.count == 1 ? "request" : "requests")"
        if timings.redirectCount > 0 { last += ", \(timings.redirectCount) \(timings.redirectCount == 1 ? "redirect" : "redirects")" }
        if let total = timings.total { last += ", \(total.formattedMilliseconds) from the first request to the last byte" }
        if let duration, let result { last += ", \(duration.formattedMilliseconds) in all, \(result)" }
        return (lines + [last]).joined(separator: "\n")
    }

    private static func add(_ layer: Layer, depth: Int, to lines: inout [String]) {
        let name = String(repeating: "  ", count: depth) + layer.name
        var line = padded(name, 56) + (layer.duration?.formattedMilliseconds ?? "under way").leftPadded(12)
        if let own = layer.own, !layer.children.isEmpty { line += "  own " + own.formattedMilliseconds.leftPadded(12) }
        if let result = layer.result { line += "  \(result)" }
        lines.append(line)
        if let exchange = layer.exchange {
            let indent = String(repeating: "  ", count: depth + 1)
            var what = "\(indent)\(exchange.method) \(exchange.url)"
            if let version = exchange.httpVersion { what += ", HTTP/\(version)" }
            if let connection = exchange.connection {
                what += ", \(connection.isReused ? "kept" : "new") connection \(connection.number)"
            }
            lines.append(what)
            for phase in exchange.phases {
                var line = padded(indent + phase.name, 56) + phase.duration.formattedMilliseconds.leftPadded(12)
                if phase.name == "send", exchange.sentBytes > 0 { line += "  \(exchange.sentBytes) bytes" }
                if phase.name == "receive", exchange.receivedBytes > 0 { line += "  \(exchange.receivedBytes) bytes" }
                lines.append(line)
            }
        }
        for child in layer.children { add(child, depth: depth + 1, to: &lines) }
    }

    private static func padded(_ text: String, _ width: Int) -> String {
        text.count < width ? text + String(repeating: " ", count: width - text.count) : text + " "
    }
}

extension String {
    fileprivate func leftPadded(_ width: Int) -> String { String(repeating: " ", count: max(0, width - count)) + self }
}

extension Duration {
    /// `12.345 ms`.
    fileprivate var formattedMilliseconds: String {
        let microseconds = Int64(self / .microseconds(1))
        let rest = "\(microseconds.magnitude % 1_000)"
        return "\(microseconds / 1_000)." + String(repeating: "0", count: 3 - rest.count) + rest + " ms"
    }
}
