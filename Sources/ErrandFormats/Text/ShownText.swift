extension StringProtocol {
    /// This text as it may stand in a message, where it comes from outside: on one line, without control characters, at most `limit` characters
    /// (200 by default), none of which has more than a few combining marks. The work does not grow with the part that is cut off.
    public func shownSafely(limit: Int = 200) -> String {
        var text = ""
        // One more than is shown, so that it is known whether something is cut off.
        let (scalarLimit, isUnlimited) = limit.multipliedReportingOverflow(by: 4)
        var count = 0
        for scalar in unicodeScalars {
            count += 1
            if !isUnlimited, count - 4 > scalarLimit { break }
            if scalar.isControl {
                text += "\\u{\(String(scalar.value, radix: 16))}"
            } else {
                text.unicodeScalars.append(scalar)
            }
        }
        guard isUnlimited || count <= scalarLimit else { return String(text.prefix(limit)).prefixOfScalars(scalarLimit) + "…" }
        return text.count > limit ? text.prefix(limit) + "…" : text
    }
}

extension String {
    fileprivate func prefixOfScalars(_ count: Int) -> String { String(String.UnicodeScalarView(unicodeScalars.prefix(count))) }
}

extension Unicode.Scalar {
    /// Whether it may move a terminal's cursor, end a line or change the direction of text; also invisible ones.
    package var isControl: Bool {
        switch properties.generalCategory {
        case .control, .lineSeparator, .paragraphSeparator, .format: true
        default: false
        }
    }
}
