internal import ErrandCore

/// A page with the position of the next page, and the reason why the next page must not be requested, if any.
struct PageStep<Output: Sendable>: Sendable {
    let page: ResultPage<Output>
    let failure: (any Error)?
}

/// The pages of a list that were read so far, and the decision about the next page.
struct PageSequence: Sendable {
    enum Step: Sendable {
        case beginning
        case page(PagePosition, originOfCall: Origin?)
        case failure(any Error)
        case end
    }

    let maxPages: Int
    /// The positions of the pages and the URL of the first page, as octets. As values of `String`, two texts would be equal even if the
    /// texts differ in Unicode composition.
    private var seen: Set<[UInt8]> = []
    private var count = 0

    init(maxPages: Int) { self.maxPages = maxPages }

    /// Records a page, and returns the next step. The page itself is valid. Therefore an error is thrown only after the page
    /// was returned.
    mutating func next<Output>(after found: PageStep<Output>) -> Step {
        let page = found.page
        let (request, head) = (page.response.request, page.response.head)
        seen.insert(page.position.octets)
        // A later page may name the first page by its URL.
        if count == 0, let url = request.url { seen.insert(PagePosition.url(url.description).octets) }
        count += 1
        if let failure = found.failure { return .failure(failure) }
        guard let next = page.next else { return .end }
        if seen.contains(next.octets) {
            let message = "\(next.shown(by: request.options.sensitivity)) was read already"
            return .failure(PaginationError(.loop, message, request: request, head))
        }
        if count >= maxPages {
            return .failure(
                PaginationError(.tooManyPages, "the list has more than \(maxPages) pages (maxPages)", request: request, head))
        }
        return .page(next, originOfCall: page.originOfCall)
    }
}

/// The state of an iteration over a list. Only one task at a time uses this object.
final class PageWalk<Output: Sendable> {
    private let pages: Pages<Output>
    private var sequence: PageSequence
    private var step = PageSequence.Step.beginning
    /// The task that prefetches the next page. The task is unstructured, so this object must cancel the task.
    private var ahead: Task<PageStep<Output>, any Error>?

    init(_ pages: Pages<Output>) {
        self.pages = pages
        sequence = PageSequence(maxPages: pages.policy.maxPages)
    }

    deinit { ahead?.cancel() }

    func next() async throws -> ResultPage<Output>? {
        let (step, task) = (step, ahead)
        (self.step, ahead) = (.end, nil)
        do {
            try Task.checkCancellation()
            let (position, originOfCall): (PagePosition, Origin?)
            switch step {
            case .beginning: (position, originOfCall) = try await pages.beginning()
            case .page(let next, let origin): (position, originOfCall) = (next, origin)
            case .failure(let error): throw error
            case .end: return nil
            }
            let page: PageStep<Output>
            if let task {
                page = try await withTaskCancellationHandler {
                    try await task.value
                } onCancel: {
                    task.cancel()
                }
            } else {
                page = try await pages.step(at: position, originOfCall: originOfCall)
            }
            self.step = sequence.next(after: page)
            if case .page(let next, let originOfCall) = self.step, pages.policy.prefetches, !Task.isCancelled {
                ahead = Task { [pages] in try await pages.step(at: next, originOfCall: originOfCall) }
            }
            return page.page
        } catch {
            task?.cancel()
            throw error
        }
    }
}
