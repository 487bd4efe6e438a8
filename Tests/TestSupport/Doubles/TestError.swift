/// An error that only tests throw.
package struct TestError: Error, Hashable, CustomStringConvertible {
    private let text: String

    /// - Parameter text: the description, by which a test can tell two errors apart. The texts of the library must not show the text.
    package init(_ text: String = "TestError") { self.text = text }

    package var description: String { text }
}
