public import ErrandCore

/// The limits for reading a list.
public struct PaginationPolicy: Sendable, Hashable {
    /// The largest number of pages, at least 1; 1,000 by default. A longer list fails with ``PaginationError``, so that an incomplete
    /// list does not look complete.
    public var maxPages: Int
    /// Whether the next page is requested while the app uses the current page; false by default. At most one page is prefetched.
    ///
    /// The iterator owns the prefetched page. If the task is cancelled while the task uses a page, the request for the prefetched page
    /// continues. The request ends when `next()` is called or the iterator is released, such as at the end of the loop.
    public var prefetches: Bool
    /// Further origins from which pages may be requested, besides the origins of the call and of the previous page; none by default.
    /// Requests to these origins carry no sensitive fields of the call, and none of the fields and query items that `server` adds. Layers
    /// such as `authenticate` add credentials only if their `origins:` lists the origin.
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
