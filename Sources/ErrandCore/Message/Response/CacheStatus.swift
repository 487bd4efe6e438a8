internal import Synchronization

/// The way in which a cache of the app handled a request, in the terms of the field `Cache-Status` ([RFC 9211, section
/// 2](https://www.rfc-editor.org/rfc/rfc9211#section-2)).
public struct CacheStatus: Sendable, Hashable, CustomStringConvertible {
    /// The reason why a cache sent a request to the server
    /// ([RFC 9211, section 2.2](https://www.rfc-editor.org/rfc/rfc9211#section-2.2)).
    public enum ForwardReason: String, Sendable, Hashable, CaseIterable {
        /// The cache was configured not to handle the request.
        case bypass
        /// The method of the request requires a request to the server.
        case method
        /// The cache has no response for the URL.
        case uriMiss = "uri-miss"
        /// The cache has responses for the URL, but `Vary` does not allow these responses for the request.
        case varyMiss = "vary-miss"
        /// The cache has no usable response, and reports no more exact reason.
        case miss
        /// The cache has a fresh response, but the request does not allow the cache to use that response.
        case request
        /// The cache has a stored response that is stale.
        case stale
        /// The cache has a part of the response, and requests the rest from the server.
        case partial
    }

    /// Whether the cache returned a stored response without a request (`hit`), or why the cache sent the request to the server
    /// (`fwd`).
    public enum Outcome: Sendable, Hashable {
        /// The response comes from the cache, without a request.
        case hit
        /// The cache sent the request to the server.
        case forwarded(ForwardReason)
        /// The cache sent no request, because the request allows only a stored response ([RFC 9111, section
        /// 5.2.1.7](https://www.rfc-editor.org/rfc/rfc9111#section-5.2.1.7)). The cache made a 504. The reason says why no stored response
        /// was used.
        case unavailable(ForwardReason)
    }

    /// Whether the response comes from the cache, why the cache sent the request to the server, or why there is no response.
    public var outcome: Outcome
    /// The status of the server's response (`fwd-status`): 304 for a revalidation. `nil` if the cache sent no request, or the
    /// status is not known.
    public var forwardedStatus: HTTPResponse.Status?
    /// Whether the cache has stored the response, or is storing the response while its body is read (`stored`). If you set `true`,
    /// ``refusal`` becomes `nil`.
    public var isStored: Bool {
        get { storage == .stored }
        set {
            if newValue {
                storage = .stored
            } else if storage == .stored {
                storage = .none
            }
        }
    }
    /// Why the cache has not stored the response of the server (`detail`). `nil` if the cache has stored the response, if the server sent
    /// no response, or if the reason is not known. If you set a reason, ``isStored`` becomes false.
    public var refusal: Refusal? {
        get { if case .refused(let refusal) = storage { refusal } else { nil } }
        set {
            if let newValue {
                storage = .refused(newValue)
            } else if storage != .stored {
                storage = .none
            }
        }
    }
    /// Whether the request shared the exchange of another request (`collapsed`).
    public var isCollapsed: Bool
    /// The time for which the response stays fresh (`ttl`); negative for a stale response. `nil` if the age of the response is not known,
    /// or if the response is neither stored nor comes from the store.
    public var timeToLive: Duration?
    /// Whether the cache has returned a stored response because the server has failed (`detail=stale-if-error`).
    public var isFallback: Bool
    /// Whether the server has confirmed the stored response that belongs to the request (304), and the cache has returned this response.
    /// False if the server has confirmed another variant: ``isReselected``.
    public var isRevalidated: Bool
    /// Whether the server has selected a stored response of another variant (304), and the cache has returned this response. Without the
    /// 304, the cache would not return this response, because `Vary` does not allow the response for the request ([RFC 9111, section
    /// 4.3.4](https://www.rfc-editor.org/rfc/rfc9111#section-4.3.4)).
    public var isReselected: Bool
    private var storage: Storage

    /// Whether the response is stored, or why not. A stored response has no reason.
    private enum Storage: Sendable, Hashable {
        /// The server sent no response, or the reason is not known.
        case none
        case stored
        case refused(Refusal)
    }

    /// Creates a status.
    ///
    /// - Parameters:
    ///   - outcome: whether the response comes from the cache, or why the cache sent the request to the server.
    ///   - forwardedStatus: the status of the server's response.
    ///   - isStored: whether the cache has stored the response.
    ///   - isCollapsed: whether the request shared the exchange of another request.
    ///   - timeToLive: the time for which the response stays fresh; negative for a stale response.
    ///   - isFallback: whether the response is a stored response that replaces a failure of the server.
    ///   - isRevalidated: whether the response is the stored response of the request, confirmed by the server.
    ///   - isReselected: whether the response is a stored response of another variant, selected by the server.
    ///   - refusal: why the cache has not stored the response. Ignored if `isStored` is true.
    public init(
        _ outcome: Outcome, forwardedStatus: HTTPResponse.Status? = nil, isStored: Bool = false, isCollapsed: Bool = false,
        timeToLive: Duration? = nil, isFallback: Bool = false, isRevalidated: Bool = false, isReselected: Bool = false,
        refusal: Refusal? = nil
    ) {
        (self.outcome, self.forwardedStatus, self.isCollapsed) = (outcome, forwardedStatus, isCollapsed)
        (self.timeToLive, self.isFallback, self.isRevalidated) = (timeToLive, isFallback, isRevalidated)
        self.isReselected = isReselected
        storage = isStored ? .stored : refusal.map { .refused($0) } ?? .none
    }

    /// Whether the response comes from the cache without a request, fresh or stale.
    public var isHit: Bool { outcome == .hit }
    /// Whether the response comes from the cache although the response is stale.
    public var isStale: Bool { (isHit || isFallback) && timeToLive.map { $0 <= .zero } ?? false }
    /// Whether the request allows only a stored response, and the cache had no usable response. No request was sent.
    public var isUnavailable: Bool { if case .unavailable = outcome { true } else { false } }
    /// Whether no part of the response is a stored response: the whole response comes from the server, or ``isUnavailable`` is true. A 304
    /// in response to a condition of the caller also comes from the server.
    public var isMiss: Bool { !isHit && !isRevalidated && !isReselected && !isFallback && outcome != .forwarded(.partial) }

    /// The parameters in the form of the field, without the name of the cache: `hit; ttl=30`, `fwd=stale; fwd-status=304`,
    /// `fwd=uri-miss; fwd-status=200; detail=no-store`.
    ///
    /// `detail` is one of these words:
    /// - `stale-if-error`: ``isFallback``
    /// - the raw value of ``refusal``
    /// - `only-if-cached/` and a reason, such as `only-if-cached/uri-miss`: ``isUnavailable``
    ///
    /// `ttl` is a whole number of seconds ([RFC 9211, section 2.4](https://www.rfc-editor.org/rfc/rfc9211#section-2.4)), rounded away from
    /// zero: the number is positive exactly if the response is fresh. A response that is fresh for 0.4 s has `ttl=1`, and a response that
    /// has been stale for 0.4 s has `ttl=-1`.
    public var description: String {
        var parts: [String] = []
        switch outcome {
        case .hit: parts.append("hit")
        case .forwarded(let reason): parts.append("fwd=\(reason.rawValue)")
        case .unavailable(let reason): parts.append("detail=only-if-cached/\(reason.rawValue)")
        }
        if let forwardedStatus { parts.append("fwd-status=\(forwardedStatus.code)") }
        if let timeToLive { parts.append("ttl=\(timeToLive.wholeSecondsOutward)") }
        if isStored { parts.append("stored") }
        if isCollapsed { parts.append("collapsed") }
        if isFallback {
            parts.append("detail=stale-if-error")
        } else if let refusal, !isUnavailable {
            parts.append("detail=\(refusal.rawValue)")
        }
        return parts.joined(separator: "; ")
    }
}

extension Duration {
    /// The seconds, rounded away from zero.
    fileprivate var wholeSecondsOutward: Int64 {
        let (seconds, attoseconds) = components
        // Both parts have the same sign.
        if attoseconds == 0 { return seconds }
        return attoseconds > 0 ? max(seconds, seconds &+ 1) : min(seconds, seconds &- 1)
    }
}

extension CacheStatus.ForwardReason {
    /// Why no stored response was used, as a clause.
    package var words: String {
        switch self {
        case .bypass: "the cache does not handle the request"
        case .method: "no stored response serves the method"
        case .uriMiss: "no response is stored for the URL"
        case .varyMiss: "the stored responses belong to other values of the fields that Vary names"
        case .miss, .partial: "no usable response is stored"
        case .request: "the request does not allow the stored response"
        case .stale: "the stored response is stale"
        }
    }
}

/// The storage of a response while its body is read. The status of the cache changes if the response is not stored in the end.
package final class CacheStorage: Sendable {
    private let reason = Mutex<CacheStatus.Refusal?>(nil)
    /// The storage in another cache of the stack; `nil` if there is no such cache, or if the other cache does not store the response.
    private let other: CacheStorage?

    package init(beside other: CacheStorage?) { self.other = other }

    /// Records why the response is not stored. Only the first reason counts.
    package func refuse(_ refusal: CacheStatus.Refusal) { reason.withLock { $0 = $0 ?? refusal } }

    /// Why the cache does not store the response; `nil` if the cache stores the response, or has stored it.
    package var ownRefusal: CacheStatus.Refusal? { reason.withLock(\.self) }

    /// Why no cache stores the response; `nil` if a cache stores the response, or has stored it.
    fileprivate var refusal: CacheStatus.Refusal? {
        guard let reason = ownRefusal else { return nil }
        return other.map { $0.refusal == nil ? nil : reason } ?? reason
    }
}

/// A status, and the storage that can change the status.
package struct WatchedCacheStatus: Sendable {
    private var status: CacheStatus
    package let storage: CacheStorage?

    /// - Parameter storage: the storage of the response; `nil` if the status does not change.
    package init(_ status: CacheStatus, storage: CacheStorage? = nil) { (self.status, self.storage) = (status, storage) }

    /// The current status.
    package var current: CacheStatus {
        guard status.isStored, let refusal = storage?.refusal else { return status }
        var current = status
        current.refusal = refusal
        return current
    }
}

private enum CacheStatusKey: MetadataKey { static var defaultValue: WatchedCacheStatus? { nil } }

extension ResponseMetadata {
    /// The way in which a cache of the stack handled the request; `nil` if the stack has no cache. Your own cache sets this property.
    ///
    /// The library's cache stores a body while the body is read. If the response is not stored in the end, for example because the
    /// store fails, ``CacheStatus/isStored`` changes to false, and ``CacheStatus/refusal`` says why. Therefore, read this property again
    /// after the body.
    public var cacheStatus: CacheStatus? {
        get { watchedCacheStatus?.current }
        set { watchedCacheStatus = newValue.map { WatchedCacheStatus($0) } }
    }

    /// The status of the cache, and the storage that can change the status.
    package var watchedCacheStatus: WatchedCacheStatus? {
        get { self[CacheStatusKey.self] }
        set { self[CacheStatusKey.self] = newValue }
    }
}
