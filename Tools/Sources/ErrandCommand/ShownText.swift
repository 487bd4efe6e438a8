import Errand

extension StringProtocol {
    /// The text in a form that is safe on a terminal: on one line, and without control characters.
    func shownSafely(limit: Int = 200) -> String { SafeText.line(self, limit: limit) }
}
