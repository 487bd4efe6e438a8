extension CallTimings: CustomStringConvertible, HidesStorage {
    /// The total time of the call, and each exchange: `350 ms, 1 redirect: GET https://a.example/x 302 in 100 ms (wait 100 ms); …`.
    public var description: String {
        var parts = [total.map(\.inWords) ?? (exchanges.isEmpty ? "nothing was sent" : "in progress")]
        if redirectCount > 0 { parts.append(redirectCount.counted("redirect")) }
        let list = exchanges.map(\.description).joined(separator: "; ")
        return parts.joined(separator: ", ") + (list.isEmpty ? "" : ": " + list)
    }

    /// The exchanges, and the number of redirects.
    package var shownFields: KeyValuePairs<String, Any> { ["exchanges": exchanges, "redirects": redirectCount] }
}

extension ExchangeTimings: CustomStringConvertible, HidesStorage {
    /// The method, the URL without secrets, the status, and the duration of each phase:
    /// `GET https://a.example/x 200 in 120 ms (send 20 ms, wait 100 ms)`.
    public var description: String {
        var text = "\(method) \(url)"
        if let status { text += " \(status)" }
        if let end { text += " in \((end - start).inWords)" } else { text += ", in progress" }
        if isComplete == false { text += ", failed" }
        let phases = phases.filter { $0.duration > .zero }.map { "\($0.name) \($0.duration.inWords)" }
        return text + (phases.isEmpty ? "" : " (\(phases.joined(separator: ", ")))")
    }
}
