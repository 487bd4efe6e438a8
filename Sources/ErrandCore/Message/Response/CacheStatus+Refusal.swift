extension CacheStatus {
    /// The reason why a cache has not stored a response.
    ///
    /// The raw value is the parameter `detail` of the field `Cache-Status` ([RFC 9211, section
    /// 2.8](https://www.rfc-editor.org/rfc/rfc9211#section-2.8)). The description says the same in words.
    ///
    /// A store of responses throws a reason to refuse one entry: see ``/ErrandCache/CacheStore``.
    ///
    /// ```swift
    /// let status = CacheStatus(.forwarded(.uriMiss), forwardedStatus: .ok, refusal: .noStore)
    /// print(status)                                  // fwd=uri-miss; fwd-status=200; detail=no-store
    /// print(status.refusal?.description ?? "")       // the response has the directive no-store
    /// ```
    public enum Refusal: String, Error, Sendable, Hashable, CaseIterable, CustomStringConvertible {
        // MARK: The request

        /// The cache does not store responses to the method, such as HEAD or DELETE. A response to POST or PATCH is stored only if it is
        /// the new content of the URL, with a lifetime.
        case method
        /// The request has the directive `no-store`.
        case requestForbids = "request-no-store"
        /// The request has credentials, or a layer inside the cache has added credentials, and the cache does not know their account:
        /// ``RequestOptions/credentialIdentity``.
        case noAccount = "no-account"
        /// The request has a body that can't be a part of the key: the body of a GET, or a body that is read only once.
        case requestBody = "request-body"
        /// The URL is longer than the cache allows.
        case urlTooLong = "url-too-long"

        // MARK: The response

        /// The response has the directive `no-store`.
        case noStore = "no-store"
        /// The response is for one user (`private`), and the cache is shared.
        case `private`
        /// The request has credentials, the cache is shared, and the response does not permit storage ([RFC 9111, section
        /// 3.5](https://www.rfc-editor.org/rfc/rfc9111#section-3.5)).
        case credentials = "authorization"
        /// The cache does not store responses with the status 304. If the response has `must-understand`, the cache also stores no response
        /// with a status whose rules the cache does not implement.
        case status
        /// The server states no lifetime, and the status does not permit a lifetime that the cache chooses.
        case noLifetime = "no-lifetime"
        /// The response has `Vary: *`, and no entity tag with which the server could select the response later.
        case varyAny = "vary-any"
        /// The response varies with a secret field, and the store can't keep a digest of the field.
        case varySecret = "vary-secret"
        /// The response is a 206 that the cache can't use: not one range, or not a response to one range.
        case range
        /// The head is larger than the cache allows.
        case headTooLarge = "head-too-large"
        /// The app's own code has decided that the response is not stored.
        case app
        /// The transport has decoded the body without declaring that it decodes bodies.
        case decodedBody = "decoded-body"
        /// The call has used the exchange of another call, and only the other call stores the response.
        case sharedExchange = "shared-exchange"
        /// The body was not read to its end, and the cache can't request the rest later.
        case incompleteBody = "incomplete-body"

        // MARK: The store

        // A store throws one of these reasons. `storeFailed`, `storeSlow` and `waitingLimit` are reasons of the cache.

        /// The account of the request has no name, and the store keeps only the responses of accounts that have names.
        case volatileAccount = "volatile-account"
        /// The response is larger than the store allows for one response.
        case tooLarge = "too-large"
        /// The store has no room.
        case noRoom = "no-room"
        /// The stored responses were removed after the request was sent, for example by a sign-out.
        case removed
        /// The store does not keep the response, for a reason that no other case describes.
        case storeRefused = "store-refused"
        /// The store has failed, or is not used for some seconds after a failure.
        case storeFailed = "store-failed"
        /// The store is slower than the reader of the body.
        case storeSlow = "store-slow"
        /// Too many bytes of bodies wait for the store, of this body and of other bodies.
        case waitingLimit = "waiting-limit"

        /// The reason in words, as a clause without secrets: `the response has the directive no-store`.
        public var description: String {
            switch self {
            case .method: "responses to the method are not stored"
            case .requestForbids: "the request has the directive no-store"
            case .noAccount: "the account of the credentials is not known"
            case .requestBody: "the body of the request can't be a part of the key"
            case .urlTooLong: "the URL is too long"
            case .noStore: "the response has the directive no-store"
            case .private: "the response is private, and the cache is shared"
            case .credentials: "the request has credentials, and the server does not permit storage in a shared cache"
            case .status: "responses with the status are not stored"
            case .noLifetime: "the server states no lifetime, and the status does not permit a heuristic lifetime"
            case .varyAny: "the response has Vary: *"
            case .varySecret: "the response varies with a secret field"
            case .range: "the response is not one range that the request has asked for"
            case .headTooLarge: "the head of the response is too large"
            case .app: "the app has decided not to store the response"
            case .decodedBody: "the transport has decoded the body"
            case .sharedExchange: "another call with the same exchange stores the response"
            case .incompleteBody: "the body is not complete"
            case .volatileAccount: "the account has no name, and the store keeps only accounts with names"
            case .tooLarge: "the response is larger than the limit for one response"
            case .noRoom: "the store has no room"
            case .removed: "stored responses were removed after the request was sent"
            case .storeRefused: "the store does not keep the response"
            case .storeFailed: "the store has failed, or is not used after a failure"
            case .storeSlow: "the store is slower than the reader"
            case .waitingLimit: "too many bytes wait for the store"
            }
        }
    }
}
