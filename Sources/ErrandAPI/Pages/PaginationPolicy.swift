public import ErrandCore

/// How far a list is read.
public struct PaginationPolicy: Sendable, Hashable {
    /// The most pages of a list: at least 1, 1,000 by default. Beyond it, the list fails with ``PaginationError``, so that a part is not taken for the whole.
    public var maxPages: Int
    /// Whether the next page is requested while the app uses the one before; false by default. Never more than one page is ahead.
    ///
    /// The page ahead belongs to the iterator. If the task is cancelled while it uses a page, the request goes on until `next()` is called, or the iterator is
    /// gone, as when the loop is left.
    public var prefetches: Bool
    /// Further origins from which pages may be requested, besides that of the call and that of the page before; none by default. Credentials, sensitive fields
    /// and what `server` adds do not go there.
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
