public import ErrandCore
internal import ErrandMiddleware

/// A page of a list.
public struct Page<Output: Sendable>: Sendable {
    /// The decoded page.
    public let value: Output
    /// The page with the head and the metadata of its response.
    public let response: TypedResponse<Output>
    /// Where this page is.
    public let position: PagePosition
    /// Where the next page is; `nil` at the end of the list. To go on later, pass it as `from`.
    public internal(set) var next: PagePosition?
    /// The origin that the call is meant for, which alone gets its credentials; `nil` if it is not known.
    let home: Origin?
}

extension Page: CustomStringConvertible, CustomReflectable {
    /// The position and the response, without the value, as it is the body: `the first page: 200, Items, to GET https://a.example/items`.
    public var description: String { "\(position): \(response)" }
    /// The description, and the next position.
    public var customMirror: Mirror {
        Mirror(self, children: ["page": description, "next": next.map { "\($0)" } ?? "none"] as KeyValuePairs<String, Any>)
    }
}

/// How far a list is read.
public struct PaginationPolicy: Sendable, Hashable {
    /// The most pages of a list: at least 1, 1,000 by default. Beyond it, the list fails with ``PaginationError``, so that a part is not taken for the whole.
    public var maxPages: Int
    /// Whether the next page is requested while the app uses the one before; false by default. Never more than one page is ahead.
    public var prefetches: Bool
    /// The origins besides that of the page before where the next page may be; none by default. Credentials, sensitive fields and what `server` adds
    /// do not go there.
    public var allowedOrigins: Set<Origin>

    /// Creates a policy.
    ///
    /// - Precondition: `maxPages` is at least 1.
    public init(maxPages: Int = 1_000, prefetches: Bool = false, allowedOrigins: Set<Origin> = []) {
        precondition(maxPages >= 1, "maxPages must be at least 1 (is \(maxPages))")
        (self.maxPages, self.prefetches, self.allowedOrigins) = (maxPages, prefetches, allowedOrigins)
    }

    /// At most 1,000 pages, one after the other, at one origin.
    public static let standard = PaginationPolicy()
}

extension APIClient {
    /// The pages of a list, one after the other.
    ///
    /// ```swift
    /// let list = Endpoint<[Repository]>.get("/orgs/apple/repos", query: ["per_page": 100])
    /// for try await page in client.pages(list, next: .link()) { show(page.value) }
    /// for try await repository in client.pages(list, next: .link()).elements(\.self) { print(repository.name) }
    /// ```
    ///
    /// Nothing is requested before the first page is asked for. Each page is a call of its own, with the fields and the options of `endpoint`. A list ends where
    /// there is no next page; it fails if a page was read already, is at another origin, or is one too many: ``PaginationPolicy``.
    ///
    /// - Parameters:
    ///   - endpoint: the call for the first page.
    ///   - next: how a page says where the next one is.
    ///   - position: where to begin: ``Page/next`` of the last page that was read. The first page by default.
    ///   - policy: how far the list is read; ``PaginationPolicy/standard`` by default.
    public func pages<Output>(
        _ endpoint: Endpoint<Output>, next: NextPage<Output>, from position: PagePosition = .first, policy: PaginationPolicy = .standard
    ) -> Pages<Output> {
        Pages(client: self, endpoint: endpoint, nextPage: next, start: position, policy: policy)
    }
}

/// The pages of a list: see ``APIClient/pages(_:next:from:policy:)``. Each iteration begins anew.
public struct Pages<Output: Sendable>: AsyncSequence, Sendable {
    public typealias Element = Page<Output>
    public typealias Failure = any Error

    let client: APIClient
    let endpoint: Endpoint<Output>
    let nextPage: NextPage<Output>
    let start: PagePosition
    let policy: PaginationPolicy

    public func makeAsyncIterator() -> Iterator { Iterator(walk: PageWalk(self)) }

    /// The elements of the pages, as one sequence.
    ///
    /// - Parameter elements: those of a page.
    public func elements<Element: Sendable>(_ elements: @escaping @Sendable (Output) -> [Element]) -> PageElements<Output, Element> {
        PageElements(pages: self, elements: elements)
    }

    /// Requests a page.
    fileprivate func page(at position: PagePosition, home: Origin?) async throws -> Page<Output> {
        let request = try position.request(for: endpoint, by: client, home: home)
        let response = try await client.call(request, ignoresEnvelope: endpoint.decoding.ignoresEnvelope) { response in
            TypedResponse(value: try await client.decode(response, as: endpoint.decoding), response: response)
        }
        let home = position.url != nil ? home : response.request.originOfCall
        return Page(value: response.value, response: response, position: position, home: home)
    }

    /// Where the list begins, with a whole URL, and the origin of the call if that is needed.
    ///
    /// - Throws: ``PaginationError`` for a URL that must not be requested; what `prepared` throws.
    fileprivate func beginning() async throws -> (PagePosition, home: Origin?) {
        guard let url = start.url else { return (start, nil) }
        let call = try await client.prepared(endpoint)
        return (try position(url, from: call, home: call.origin, nil), call.origin)
    }

    /// The position of the page after `page`, with its whole URL; `nil` at the end.
    ///
    /// - Throws: ``PaginationError`` for a page that must not be requested; the error of ``NextPage``.
    fileprivate func position(after page: Page<Output>) throws -> PagePosition? {
        guard let position = try nextPage.find(page) else { return nil }
        guard let url = position.url else { return position }
        return try self.position(url, from: page.response.request, home: page.home, page.response.head)
    }

    private func position(_ text: String, from request: Request, home: Origin?, _ head: HTTPResponse?) throws -> PagePosition {
        let url: HTTPURL
        do {
            let reference = try URLReference(text)
            url = try HTTPURL(request.url.map { reference.resolved(against: URLReference($0)) } ?? reference)
        } catch {
            throw PaginationError(.invalidURL, error.description, request: request, head)
        }
        guard [request.origin, home].contains(url.origin) || policy.allowedOrigins.contains(url.origin) else {
            throw PaginationError(.foreignOrigin, "\(url.origin)", request: request, head)
        }
        return .url(url.description)
    }

    /// Requests the pages. A page that is requested ahead is cancelled with it.
    public struct Iterator: AsyncIteratorProtocol {
        private let walk: PageWalk<Output>

        fileprivate init(walk: PageWalk<Output>) { self.walk = walk }

        /// Returns the next page; `nil` at the end, and after an error.
        ///
        /// - Throws: ``PaginationError``; what ``APIClient/response(_:)`` throws.
        public mutating func next() async throws -> Page<Output>? { try await walk.next() }

        public mutating func next(isolation actor: isolated (any Actor)?) async throws -> Page<Output>? { try await next() }
    }
}

/// The way through a list. One task at a time uses it.
private final class PageWalk<Output: Sendable> {
    private enum Step {
        case beginning
        case page(PagePosition, home: Origin?)
        case failure(any Error)
        case end
    }

    private let pages: Pages<Output>
    private var step = Step.beginning
    private var ahead: Task<Page<Output>, any Error>?
    private var seen: Set<PagePosition> = []

    init(_ pages: Pages<Output>) { self.pages = pages }

    deinit { ahead?.cancel() }

    func next() async throws -> Page<Output>? {
        let (step, task) = (step, ahead)
        (self.step, ahead) = (.end, nil)
        do {
            try Task.checkCancellation()
            let (position, home): (PagePosition, Origin?)
            switch step {
            case .beginning: (position, home) = try await pages.beginning()
            case .page(let next, let origin): (position, home) = (next, origin)
            case .failure(let error): throw error
            case .end: return nil
            }
            seen.insert(position)
            var page: Page<Output>
            if let task {
                page = try await withTaskCancellationHandler {
                    try await task.value
                } onCancel: {
                    task.cancel()
                }
            } else {
                page = try await pages.page(at: position, home: home)
            }
            findNext(after: &page)
            return page
        } catch {
            task?.cancel()
            throw error
        }
    }

    private func findNext(after page: inout Page<Output>) {
        do {
            guard let next = try pages.position(after: page) else { return }
            page.next = next
            let (request, head) = (page.response.request, page.response.head)
            if seen.contains(next) {
                throw PaginationError(.loop, "\(next.shown(by: request.options.sensitivity)) was read already", request: request, head)
            }
            guard seen.count < pages.policy.maxPages else {
                throw PaginationError(.tooManyPages, "more than \(pages.policy.maxPages)", request: request, head)
            }
            let home = page.home
            step = .page(next, home: home)
            if pages.policy.prefetches { ahead = Task { [pages] in try await pages.page(at: next, home: home) } }
        } catch {
            // The page itself is good: the error follows it.
            step = .failure(error)
        }
    }
}

/// The elements of the pages of a list: see ``Pages/elements(_:)``.
public struct PageElements<Output: Sendable, Item: Sendable>: AsyncSequence, Sendable {
    public typealias Element = Item
    public typealias Failure = any Error

    let pages: Pages<Output>
    let elements: @Sendable (Output) -> [Item]

    public func makeAsyncIterator() -> Iterator { Iterator(pages: pages.makeAsyncIterator(), elements: elements) }

    /// Requests a page when the elements of the one before are used up.
    public struct Iterator: AsyncIteratorProtocol {
        private var pages: Pages<Output>.Iterator
        private let elements: @Sendable (Output) -> [Item]
        private var current: [Item].Iterator = [].makeIterator()

        fileprivate init(pages: Pages<Output>.Iterator, elements: @escaping @Sendable (Output) -> [Item]) {
            (self.pages, self.elements) = (pages, elements)
        }

        /// Returns the next element; `nil` at the end, and after an error.
        ///
        /// - Throws: what ``Pages/Iterator/next()`` throws.
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
