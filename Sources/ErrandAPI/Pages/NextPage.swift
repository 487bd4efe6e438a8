public import ErrandCore
internal import ErrandFormats

/// A rule that finds the next page of a list in a page or in its response.
///
/// ```swift
/// client.pages(Repositories.list(of: "apple"), next: .link())
/// client.pages(Orders.list(), next: .cursor(named: "after") { $0.nextCursor })
/// client.pages(Users.list(), next: .number { !$0.users.isEmpty })
/// ```
///
/// The list ends when there is no next page. An empty page does not end the list if another page follows.
public struct NextPage<Output: Sendable>: Sendable {
    let find: @Sendable (ResultPage<Output>) throws -> PagePosition?

    /// Creates your own rule.
    ///
    /// - Parameter find: a closure that returns the position of the next page; `nil` at the end of the list. If the closure throws, the
    ///   page is returned, and the next call of `next()` throws the error.
    public init(_ find: @escaping @Sendable (ResultPage<Output>) throws -> PagePosition?) { self.find = find }

    /// Reads a cursor from the page. The cursor becomes a query item of the next request.
    ///
    /// - Parameters:
    ///   - name: the name of the query item. Default: `cursor`.
    ///   - cursor: a closure that returns the cursor in a page; `nil` or empty at the end of the list.
    public static func cursor(named name: String = "cursor", _ cursor: @escaping @Sendable (Output) -> String?) -> NextPage {
        NextPage { page in
            guard let cursor = cursor(page.value), !cursor.isEmpty else { return nil }
            return .query([name: cursor])
        }
    }

    /// Reads a numeric cursor from the page. The cursor becomes a query item of the next request.
    ///
    /// - Parameters:
    ///   - name: the name of the query item. Default: `cursor`.
    ///   - cursor: a closure that returns the cursor in a page; `nil` at the end of the list.
    @_disfavoredOverload
    public static func cursor(named name: String = "cursor", _ cursor: @escaping @Sendable (Output) -> Int?) -> NextPage {
        .cursor(named: name) { cursor($0).map { "\($0)" } }
    }

    /// Counts pages by a number in the query.
    ///
    /// ```swift
    /// // GET /users, /users?page=2, …
    /// client.pages(Users.list(), next: .number { !$0.users.isEmpty })
    /// // GET /users?page=0, /users?page=1, …
    /// client.pages(Endpoint<UserList>.get("/users", query: ["page": 0]), next: .number { !$0.users.isEmpty })
    /// ```
    ///
    /// - Parameters:
    ///   - name: the name of the query item. Default: `page`.
    ///   - first: the number of the first page at the server. The first request is the unchanged call. Therefore, this number is not added
    ///     to the first request. The second request has the next number. Default: 1.
    ///   - hasMore: a closure that returns whether there is a page after the given page.
    public static func number(
        named name: String = "page", first: Int = 1, hasMore: @escaping @Sendable (Output) -> Bool
    ) -> NextPage { counted(name, first: first, step: 1, hasMore) }

    /// Counts elements by an offset in the query.
    ///
    /// - Parameters:
    ///   - name: the name of the query item. Default: `offset`.
    ///   - step: the difference between the offsets of two successive pages, at least 1. The step equals the number of elements that the
    ///     call requests. If the server sends fewer elements in a page that is not the last, some elements of the list are not read.
    ///   - first: the offset of the first page at the server. The first request is the unchanged call. Therefore, this offset is not added
    ///     to the first request. The second request has this offset plus `step`. Default: 0.
    ///   - hasMore: a closure that returns whether there is a page after the given page.
    public static func offset(
        named name: String = "offset", step: Int, first: Int = 0, hasMore: @escaping @Sendable (Output) -> Bool
    ) -> NextPage {
        precondition(step >= 1, "step must be at least 1 (is \(step))")
        return counted(name, first: first, step: step, hasMore)
    }

    private static func counted(_ name: String, first: Int, step: Int, _ hasMore: @escaping @Sendable (Output) -> Bool) -> NextPage {
        NextPage { page in
            guard hasMore(page.value) else { return nil }
            // The query of the call may already have the number of the first page.
            let current = page.position.query[name] ?? page.response.request.query[name]
            let number = current.flatMap { Int($0) } ?? first
            let (next, isTooLarge) = number.addingReportingOverflow(step)
            guard !isTooLarge else {
                throw PaginationError(
                    .tooManyPages, "the number after \(number) is too large", request: page.response.request, page.response.head)
            }
            return .query([name: "\(next)"])
        }
    }

    /// Reads the next page from the `Link` field of the response ([RFC 8288](https://www.rfc-editor.org/rfc/rfc8288)). GitHub,
    /// for example, sends this field.
    ///
    /// If no link has the relation, the list ends. If the relation is missing and a part of the field is unreadable, the list fails
    /// with ``PaginationError``. The unreadable part may name the next page.
    ///
    /// - Parameter relation: the relation of the link. Default: `next`.
    public static func link(_ relation: String = "next") -> NextPage {
        NextPage { page in
            let values = page.response.headers[fields: .custom("Link")].map(\.valuePreservingURLs)
            let (links, isComplete) = WebLink.parseReportingCompleteness(values)
            if let next = links.first(where: { $0.isRelated(as: relation) && $0.anchor == nil }) { return .url(next.target) }
            guard isComplete else {
                let cause =
                    if values.contains(where: { $0.utf8.count > FieldLimits.valueBytes }) {
                        "the Link field is longer than \(FieldLimits.valueBytes) bytes"
                    } else if links.count >= WebLink.countLimit {
                        "the Link field has more than \(WebLink.countLimit) links"
                    } else {
                        "a part of the Link field is malformed (expected: <URL>; rel=\"\(relation)\")"
                    }
                let problem = "\(cause), and no other link names the next page: the list may be incomplete"
                throw PaginationError(.invalidURL, problem, request: page.response.request, page.response.head)
            }
            return nil
        }
    }

    /// Reads the URL of the next page from the page.
    ///
    /// - Parameter url: a closure that returns the absolute or relative URL in a page; `nil` or empty at the end of the list.
    public static func url(_ url: @escaping @Sendable (Output) -> String?) -> NextPage {
        NextPage { page in
            guard let url = url(page.value), !url.isEmpty else { return nil }
            return .url(url)
        }
    }

    /// Reads the URL of the next page from the page, as a `URL` of Foundation.
    ///
    /// - Parameter url: a closure that returns the absolute or relative URL in a page; `nil` at the end of the list.
    @_disfavoredOverload
    public static func url(_ url: @escaping @Sendable (Output) -> URL?) -> NextPage { .url { url($0)?.relativeString } }
}
