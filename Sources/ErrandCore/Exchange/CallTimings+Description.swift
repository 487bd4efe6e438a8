extension CallTimings: CustomStringConvertible, CustomReflectable {
    /// What the call took in all, and each exchange: `0.35 s, 1 redirect: GET https://a.example/x 302 in 0.1 s (wait 0.1 s); …`.
    public var description: String {
        var parts = [total.map(\.formattedSeconds) ?? (exchanges.isEmpty ? "nothing was sent" : "in progress")]
        if redirectCount > 0 { parts.append("\(redirectCount) redirect\(redirectCount == 1 ? "" : "s")") }
        let list = exchanges.map(\.description).joined(separator: "; ")
        return parts.joined(separator: ", ") + (list.isEmpty ? "" : ": " + list)
    }

    /// The exchanges, and the number of redirects.
    public var customMirror: Mirror {
        Mirror(self, children: ["exchanges": exchanges, "redirects": redirectCount] as KeyValuePairs<String, Any>)
    }
}

extension ExchangeTimings: CustomStringConvertible, CustomReflectable {
    /// Method, URL without secrets, status, and how long each phase took: `GET https://a.example/x 200 in 0.12 s (send 0.02 s, wait 0.1 s)`.
    public var description: String {
        var text = "\(method) \(url)"
        if let status { text += " \(status)" }
        if let end { text += " in \((end - start).formattedSeconds)" } else { text += ", in progress" }
        if isComplete == false { text += ", failed" }
        let phases = phases.filter { $0.duration > .zero }.map { "\($0.name) \($0.duration.formattedSeconds)" }
        return text + (phases.isEmpty ? "" : " (\(phases.joined(separator: ", ")))")
    }

    /// The description.
    public var customMirror: Mirror { Mirror(self, children: ["exchange": description]) }
}
