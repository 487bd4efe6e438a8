internal import ErrandCore

/// The decision of a cache on a request.
enum CacheDecision: Sendable {
    /// The stored response is returned. No request is sent.
    case serve(CacheServing)
    /// The stored response is returned, and is revalidated in the background ([RFC 5861, section
    /// 3](https://www.rfc-editor.org/rfc/rfc5861#section-3)).
    case serveAndRevalidate(CacheServing, CacheForward)
    /// The request is sent.
    case send(CacheForward)
    /// No stored response can be used, and the request must not be sent. The cache makes a response with the status 504 ([RFC 9111, section
    /// 5.2.1.7](https://www.rfc-editor.org/rfc/rfc9111#section-5.2.1.7)).
    case unavailable(CacheStatus.ForwardReason)
}

/// A response from the store.
struct CacheServing: Sendable {
    /// The bytes of the response's body.
    enum Body: Sendable, Hashable {
        /// No bytes: the response to HEAD, or a 304.
        case none
        /// All stored bytes.
        case whole
        /// These offsets in the stored bytes.
        case part(Range<Int64>)
    }

    /// The entry that has the body.
    let entry: CacheEntry
    /// The head of the response, with `Age`.
    let head: HTTPResponse
    /// The bytes of the body.
    let body: Body
    /// The way in which the cache handled the request.
    var status: CacheStatus

    /// The offsets of the body in the stored bytes of the entry. If the body has no bytes, the range is empty.
    var offsets: Range<Int64> {
        switch body {
        case .none: 0..<0
        case .whole: 0..<entry.head.extent.storedBytes
        case .part(let offsets): offsets
        }
    }
}

extension Response {
    /// Creates a response from the store. The response has no exchange, and its metadata has the status of the cache.
    init(_ serving: CacheServing, body: ResponseBody, request: Request) {
        self.init(head: serving.head, body: body, request: request, exchange: ExchangeLifetime(outcome: .complete))
        metadata.cacheStatus = serving.status
    }
}

/// A request to the server, and the entries that its response may confirm or complete.
struct CacheForward: Sendable {
    /// Why the request is sent.
    var reason: CacheStatus.ForwardReason
    /// The fields to set in the request. Each field replaces all fields of the request with the same name.
    var fields: [HTTPField] = []
    /// The entries whose validators the fields name. A 304 selects one of these entries.
    var candidates: [CacheEntry] = []
    /// The entry that the response completes. The fields ask for the missing bytes at the end of the entry.
    var completes: CacheEntry?
    /// The entry that could be used if the server fails; `nil` if there is no such entry, or the request forbids its use.
    var fallback: CacheEntry?
    /// Whether the response may be stored.
    var mayStore = true
    /// Why the response is not stored, if an inner layer has added credentials to the request; `nil` otherwise.
    var innerRefusal: CacheStatus.Refusal?

    /// Sets the fields in a request.
    func apply(to request: inout Request) {
        for field in fields { request.headers[fields: field.name] = [field] }
    }
}

/// The decision of a cache on the head of a response.
struct CacheReception: Sendable {
    /// The response that the caller gets.
    enum Outcome: Sendable {
        /// The response of the server. If the write is not `nil`, the body is stored while the caller reads it.
        case pass(CacheWrite?)
        /// A stored response. The body of the server's response is not needed.
        case serve(CacheServing)
        /// The bytes of a stored part, followed by the body of the server's response.
        case complete(CacheCompletion)
        /// The response is unusable. The request is sent again in the way that this value describes. The body of the server's response is
        /// not needed.
        case sendAgain(CacheForward)
    }

    /// The new head of an entry.
    struct Update: Sendable {
        let id: CacheEntry.ID
        let head: CacheEntry.Head
    }

    /// The response that the caller gets.
    var outcome: Outcome
    /// The entries whose heads change.
    var updates: [Update] = []
    /// The entries of the request's key that are removed.
    var removals: [CacheEntry.ID] = []
    /// The URLs whose entries are removed before anything is written, for all accounts and all contents of QUERY requests.
    var invalidated: [String] = []
    /// The origin whose entries are removed before anything is written, for all accounts (`Clear-Site-Data`); `nil` if no origin is
    /// cleared.
    var clearedOrigin: Origin?
    /// The groups whose entries are removed if the entries belong to the request's origin, for all accounts ([RFC
    /// 9875](https://www.rfc-editor.org/rfc/rfc9875)). An entry names its groups in ``CacheEntry/Head/groups``.
    var invalidatedGroups: [String] = []
    /// The way in which the cache handled the request.
    var status: CacheStatus
}

/// A response whose body begins with stored bytes, followed by the bytes of the server. The cache makes the head of this response.
struct CacheCompletion: Sendable {
    /// The head of the whole response.
    let head: HTTPResponse
    /// The stored bytes with which the body begins.
    let beginning: CachePiece
    /// The number of bytes of the whole response.
    let length: Int64
    /// How the whole response is stored; `nil` if it is not stored.
    let write: CacheWrite?
}

/// Bytes of a stored entry.
struct CachePiece: Sendable {
    /// The entry that has the bytes.
    let entry: CacheEntry
    /// The offsets of the bytes in the stored bytes of the entry.
    let offsets: Range<Int64>

    /// The number of bytes.
    var byteCount: Int64 { offsets.byteCount }
}
