extension StringProtocol {
    /// Text from outside as it may stand in a message: on one line, without control characters, at most `limit` characters.
    public func shownSafely(limit: Int = 200) -> String {
        var text = ""
        for scalar in unicodeScalars {
            switch scalar.properties.generalCategory {
            case .control, .lineSeparator, .paragraphSeparator, .format: text += "\\u{\(String(scalar.value, radix: 16))}"
            default: text.unicodeScalars.append(scalar)
            }
        }
        return text.count > limit ? text.prefix(limit) + "…" : text
    }
}
