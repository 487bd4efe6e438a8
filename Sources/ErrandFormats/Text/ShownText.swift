extension StringProtocol {
    /// Returns text from outside the app in a form that is safe to show in a message.
    ///
    /// The result is on one line, and has no control characters. The result has at most `limit` characters (200 by default). Each
    /// character has only a few combining marks. The amount of work does not depend on the part that is cut off.
    package func shownSafely(limit: Int = 200) -> String {
        var text = ""
        // The loop reads one scalar more than the limit, to find out whether the text is cut off.
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
    /// Whether the scalar is invisible, or may move a terminal's cursor, end a line or change the direction of text.
    package var isControl: Bool {
        switch properties.generalCategory {
        case .control, .lineSeparator, .paragraphSeparator, .format: true
        default: false
        }
    }
}
