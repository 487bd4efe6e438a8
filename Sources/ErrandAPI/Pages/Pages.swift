public import ErrandCore

extension APIClient {
    /// Returns the pages of a list, one after the other.
    ///
    /// ```swift
    /// let list = Endpoint<[Repository]>.get("/orgs/apple/repos", query: ["per_page": 100])
    /// for try await page in client.pages(list, next: .link()) { show(page.value) }
    /// for try await repository in client.pages(list, next: .link()).elements(\.self) { print(repository.name) }
    /// ```
    ///
    /// The first page is requested when it is read. Each page is a separate call, with the fields and the options of `endpoint`. A list
    /// ends when there is no next page. The sequence fails if the next page was read already, is at an origin that ``PaginationPolicy``
    /// does not allow, or exceeds its number of pages.
    ///
    /// - Parameters:
    ///   - endpoint: the call for the first page.
    ///   - next: the rule that finds the next page.
    ///   - position: the position to begin at, such as ``ResultPage/next`` of the last page that was read. The first page by default.
    ///   - policy: the allowed number of pages, the allowed origins, and the prefetch. Default: ``PaginationPolicy/standard``.
    public func pages<Output>(
        _ endpoint: Endpoint<Output>, next: NextPage<Output>, from position: PagePosition = .first, policy: PaginationPolicy = .standard
    ) -> Pages<Output> {
        Pages(client: self, endpoint: endpoint, nextPage: next, start: position, policy: policy)
    }

    /// Requests one page of a list, such as the next page for a screen.
    ///
    /// ```swift
    /// let page = try await client.page(list, next: .link(), at: position)
    /// (rows, position) = (rows + page.value, page.next)           // nil at the end
    /// ```
    ///
    /// This function checks neither the number of pages nor whether a page was read before.
    ///
    /// - Parameters:
    ///   - endpoint: the call for the first page.
    ///   - next: the rule that finds the next page.
    ///   - position: the position of the page, such as ``ResultPage/next`` of the previous page. Default: the first page.
    ///   - allowedOrigins: the further origins to which the position may lead: see ``PaginationPolicy/allowedOrigins``. Default:
    ///     none.
    /// - Throws: ``PaginationError``; the errors of ``value(_:)``; the error that ``NextPage`` throws. After an error of ``NextPage``, the
    ///   page is not returned. A redirect may lead to an origin that is not allowed. If that origin names a forbidden next page, this
    ///   function throws the error of the next page.
    @concurrent public func page<Output>(
        _ endpoint: Endpoint<Output>, next: NextPage<Output>, at position: PagePosition = .first, allowedOrigins: Set<Origin> = []
    ) async throws -> ResultPage<Output> {
        let pages = pages(endpoint, next: next, from: position, policy: PaginationPolicy(allowedOrigins: allowedOrigins))
        let (position, originOfCall) = try await pages.beginning()
        let step = try await pages.step(at: position, originOfCall: originOfCall)
        if let failure = step.failure, step.page.next == nil { throw failure }
        return step.page
    }
}

/// The pages of a list: see ``APIClient/pages(_:next:from:policy:)``. Each iteration begins again at the first position.
public struct Pages<Output: Sendable>: AsyncSequence, Sendable {
    public typealias Element = ResultPage<Output>
    public typealias Failure = any Error

    let client: APIClient
    let endpoint: Endpoint<Output>
    let nextPage: NextPage<Output>
    let start: PagePosition
    let policy: PaginationPolicy

    public func makeAsyncIterator() -> Iterator { Iterator(walk: PageWalk(self)) }

    /// The elements of the pages, as one sequence.
    ///
    /// - Parameter elements: a closure that returns the elements of a page.
    public func elements<Element: Sendable>(_ elements: @escaping @Sendable (Output) -> [Element]) -> PageElements<Output, Element> {
        PageElements(pages: self, elements: elements)
    }

    /// Requests a page and finds the position of the next page. Does not run on the caller's actor.
    @concurrent func step(at position: PagePosition, originOfCall: Origin?) async throws -> PageStep<Output> {
        let response = try await response(at: position, originOfCall: originOfCall)
        let originOfCall = response.request.trustedOrigin(
            ofCall: position.url != nil ? originOfCall : response.request.originOfCall, allowing: policy.allowedOrigins)
        var page = ResultPage(value: response.value, response: response, position: position, originOfCall: originOfCall)
        do {
            // A forbidden position is kept unchanged. If the position were removed, the list would seem to end at this page.
            page.next = try nextPage.find(page)
            page.next = try self.position(after: page)
            return PageStep(page: page, failure: nil)
        } catch {
            // If the origin of this page is not trusted, the forbidden position is dropped now. The page may have named a URL of the call's
            // origin, and a later check would allow that URL.
            if originOfCall == nil { page.next = nil }
            return PageStep(page: page, failure: error)
        }
    }

    private func response(at position: PagePosition, originOfCall: Origin?) async throws -> TypedResponse<Output> {
        func invalid(_ error: InvalidURLError) throws -> PaginationError {
            PaginationError(.invalidURL, error.code.description, request: try client.request(for: endpoint), nil)
        }
        let request: Request
        do {
            request = try position.request(for: endpoint, by: client, originOfCall: originOfCall)
        } catch let error as InvalidURLError where position != .first {
            throw try invalid(error)
        }
        do {
            return try await client.mappedCall(request, in: client.envelopeReader(for: endpoint)) { response in
                TypedResponse(value: try await client.decode(response, as: endpoint.decoding), response: response)
            }
        } catch let error as InvalidURLError where position != .first && error.code == .tooManyOctets {
            // The base URL and the position together are too long for the target of a request.
            throw try invalid(error)
        }
    }

    /// Returns the first position of the list, with a whole URL, and the origin of the call. The origin is `nil` if the origin is not
    /// needed.
    ///
    /// - Throws: ``PaginationError`` for a URL that must not be requested; the errors of `prepared`.
    func beginning() async throws -> (PagePosition, originOfCall: Origin?) {
        guard let url = start.url else { return (start, nil) }
        let call = try await client.prepared(endpoint)
        return (try position(url, from: call, originOfCall: call.origin, nil), call.origin)
    }

    /// Returns the position of the page after `page`, with its whole URL; `nil` at the end.
    ///
    /// - Throws: ``PaginationError`` for a page that must not be requested.
    private func position(after page: ResultPage<Output>) throws -> PagePosition? {
        guard let url = page.next?.url else { return page.next }
        return try self.position(url, from: page.response.request, originOfCall: page.originOfCall, page.response.head)
    }

    private func position(_ text: String, from request: Request, originOfCall: Origin?, _ head: HTTPResponse?) throws -> PagePosition {
        do {
            return .url(try request.resolvedURL(of: text, originOfCall: originOfCall, allowing: policy.allowedOrigins).description)
        } catch .invalid(let reason) {
            throw PaginationError(.invalidURL, reason.description, request: request, head)
        } catch .foreign(let origin) {
            throw PaginationError(.foreignOrigin, "allowedOrigins of the policy does not list \(origin)", request: request, head)
        }
    }

    /// Requests the pages. If the iterator is released, a prefetched page is cancelled.
    public struct Iterator: AsyncIteratorProtocol {
        private let walk: PageWalk<Output>

        init(walk: PageWalk<Output>) { self.walk = walk }

        /// Returns the next page; `nil` at the end, and after an error.
        ///
        /// - Throws: ``PaginationError``; the errors of ``APIClient/response(_:)``.
        public mutating func next() async throws -> ResultPage<Output>? { try await walk.next() }

        public mutating func next(isolation actor: isolated (any Actor)?) async throws -> ResultPage<Output>? { try await next() }
    }
}

extension Pages: CustomStringConvertible, HidesStorage {
    /// The call and its first position, with secrets replaced: `pages of GET /items?size=2 from the first page`.
    public var description: String { "pages of \(endpoint) from \(start.shown(by: endpoint.options.sensitivity))" }
}
