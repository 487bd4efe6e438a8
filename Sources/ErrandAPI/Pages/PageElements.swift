/// The elements of the pages of a list: see ``Pages/elements(_:)``.
public struct PageElements<Output: Sendable, Item: Sendable>: AsyncSequence, Sendable {
    public typealias Element = Item
    public typealias Failure = any Error

    let pages: Pages<Output>
    let elements: @Sendable (Output) -> [Item]

    public func makeAsyncIterator() -> Iterator { Iterator(pages: pages.makeAsyncIterator(), elements: elements) }

    /// Requests a page when the elements of the previous page are used up.
    public struct Iterator: AsyncIteratorProtocol {
        private var pages: Pages<Output>.Iterator
        private let elements: @Sendable (Output) -> [Item]
        private var current: [Item].Iterator = [].makeIterator()

        fileprivate init(pages: Pages<Output>.Iterator, elements: @escaping @Sendable (Output) -> [Item]) {
            (self.pages, self.elements) = (pages, elements)
        }

        /// Returns the next element; `nil` at the end, and after an error.
        ///
        /// - Throws: the errors of ``Pages/Iterator/next()``.
        public mutating func next() async throws -> Item? {
            while true {
                if let item = current.next() { return item }
                guard let page = try await pages.next() else { return nil }
                current = elements(page.value).makeIterator()
            }
        }

        public mutating func next(isolation actor: isolated (any Actor)?) async throws -> Item? { try await next() }
    }
}
