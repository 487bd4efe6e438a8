internal import ErrandCore

/// A page with the position of the next page, and the reason why the next page must not be requested.
struct PageStep<Output: Sendable>: Sendable {
    let page: ResultPage<Output>
    let failure: (any Error)?
}

/// The state of an iteration over a list. One task at a time uses it.
final class PageWalk<Output: Sendable> {
    private enum Step {
        case beginning
        case page(PagePosition, originOfCall: Origin?)
        case failure(any Error)
        case end
    }

    private let pages: Pages<Output>
    private var step = Step.beginning
    /// The prefetch of the next page. This task is the only unstructured task, and this object cancels it.
    private var ahead: Task<PageStep<Output>, any Error>?
    /// The positions of the pages read so far and the URL of the first page, as octets, because texts that differ only in Unicode
    /// composition are equal.
    private var seen: Set<[UInt8]> = []
    private var count = 0

    init(_ pages: Pages<Output>) { self.pages = pages }

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
            return noting(page)
        } catch {
            task?.cancel()
            throw error
        }
    }

    /// Decides the next step after a page. The page itself is valid. Therefore an error is thrown only after the page.
    private func noting(_ found: PageStep<Output>) -> ResultPage<Output> {
        let page = found.page
        let (request, head, originOfCall) = (page.response.request, page.response.head, page.originOfCall)
        seen.insert(page.position.octets)
        // A later page may name the first page by its URL.
        if count == 0, let url = request.url { seen.insert(PagePosition.url(url.description).octets) }
        count += 1
        if let failure = found.failure {
            step = .failure(failure)
        } else if let next = page.next {
            if seen.contains(next.octets) {
                let message = "\(next.shown(by: request.options.sensitivity)) was read already"
                step = .failure(PaginationError(.loop, message, request: request, head))
            } else if count >= pages.policy.maxPages {
                let message = "more than \(pages.policy.maxPages), the maxPages of the policy"
                step = .failure(PaginationError(.tooManyPages, message, request: request, head))
            } else {
                step = .page(next, originOfCall: originOfCall)
                if pages.policy.prefetches, !Task.isCancelled {
                    ahead = Task { [pages] in try await pages.step(at: next, originOfCall: originOfCall) }
                }
            }
        }
        return page
    }
}
