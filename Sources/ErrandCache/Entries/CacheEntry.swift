public import ErrandCore

/// A stored response: its head and its number in the store. A store keeps the body. The description and the mirror show no field.
public struct CacheEntry: Sendable, Identifiable, CustomStringConvertible, HidesStorage {
    /// The number of an entry, which is unique in its store.
    public struct ID: Sendable, Hashable, CustomStringConvertible {
        /// The number.
        public let rawValue: Int64

        /// Creates a number.
        public init(_ rawValue: Int64) { self.rawValue = rawValue }

        /// The number in digits.
        public var description: String { String(rawValue) }
    }

    /// The number of the entry, which is unique in its store.
    public let id: ID
    /// The head of the response, and the facts about its exchange that the cache needs.
    public let head: Head

    /// Creates an entry.
    ///
    /// - Parameters:
    ///   - id: the number of the entry.
    ///   - head: the head of the response.
    public init(id: ID, head: Head) { (self.id, self.head) = (id, head) }

    /// The number, the status and the number of bytes: `entry 7, status 200, 45 bytes`.
    public var description: String { "entry \(id), \(head)" }
}

extension CacheEntry {
    /// The head of a stored response, and the facts about its exchange that the cache needs. A store keeps all arguments of the
    /// initializer. The description and the mirror show no field.
    public struct Head: Sendable, CustomStringConvertible, HidesStorage {
        /// The storage is a class, because a head is copied often.
        private final class Storage: Sendable {
            let response: HTTPResponse
            let requestTime: CacheInstant
            let responseTime: CacheInstant
            let selection: CacheSelection
            let extent: CacheExtent
            let lifetimes: CacheLifetimes?
            let isDecoded: Bool
            let control: CacheControl
            let times: CacheTimes
            let validators: ResponseValidators

            init(
                _ response: HTTPResponse, _ requestTime: CacheInstant, _ responseTime: CacheInstant, _ selection: CacheSelection,
                _ extent: CacheExtent, _ lifetimes: CacheLifetimes?, isDecoded: Bool
            ) {
                (self.response, self.requestTime, self.responseTime) = (response, requestTime, responseTime)
                (self.selection, self.extent, self.lifetimes, self.isDecoded) = (selection, extent, lifetimes, isDecoded)
                control = CacheControl(response.headerFields)
                times = CacheTimes(response.headerFields, requestTime: requestTime, responseTime: responseTime)
                validators = ResponseValidators(response.headerFields, receivedAt: responseTime.date)
            }
        }

        private let storage: Storage

        /// Creates the head of a stored response.
        ///
        /// - Parameters:
        ///   - response: the status and the fields that are stored.
        ///   - requestTime: the instant at which the request was sent.
        ///   - responseTime: the instant at which the head of the response arrived.
        ///   - selection: the fields of the request by which the server has selected the response.
        ///   - extent: the bytes of the representation that the entry has.
        ///   - lifetimes: the lifetimes that the app has chosen; `nil` if the app has chosen no lifetimes.
        ///   - isDecoded: whether the transport has decoded the body.
        public init(
            response: HTTPResponse, requestTime: CacheInstant, responseTime: CacheInstant, selection: CacheSelection = CacheSelection(),
            extent: CacheExtent, lifetimes: CacheLifetimes? = nil, isDecoded: Bool = false
        ) {
            storage = Storage(response, requestTime, responseTime, selection, extent, lifetimes, isDecoded: isDecoded)
        }

        /// The status and the fields, without the fields that must not be stored. For a part of a representation, the status is 200, and
        /// `Content-Range` and `Content-Length` are missing.
        public var response: HTTPResponse { storage.response }
        /// The instant at which the request was sent.
        public var requestTime: CacheInstant { storage.requestTime }
        /// The instant at which the head of the response arrived.
        public var responseTime: CacheInstant { storage.responseTime }
        /// The fields of the request by which the server has selected the response.
        public var selection: CacheSelection { storage.selection }
        /// The bytes of the representation that the entry has.
        public var extent: CacheExtent { storage.extent }
        /// The lifetimes that the app has chosen in place of the server's lifetimes; `nil` if the app has chosen no lifetimes.
        public var lifetimes: CacheLifetimes? { storage.lifetimes }
        /// Whether the transport has decoded the body. The entity tag does not apply to decoded bytes, so no range of decoded bytes is
        /// used.
        public var isDecoded: Bool { storage.isDecoded }

        /// Whether the stored bytes have a content coding. A stack whose transport decodes bodies does not use encoded bytes.
        var isEncoded: Bool { response.headerFields.contains(.contentEncoding) }

        /// The groups to which the response belongs ([RFC 9875](https://www.rfc-editor.org/rfc/rfc9875)); empty if the response names no
        /// groups.
        public var groups: [String] { CacheGroups.named(in: response.headerFields) }

        /// The status and the number of stored bytes: `status 200, 45 bytes`.
        public var description: String { "status \(response.status.code), \(extent.storedBytes.counted("byte"))" }

        /// The directives of the response.
        var control: CacheControl { storage.control }
        /// The dates and ages from which the freshness follows.
        var times: CacheTimes { storage.times }
        /// The validators of the response.
        var validators: ResponseValidators { storage.validators }

        /// Returns this head with another extent.
        func with(extent: CacheExtent, response: HTTPResponse? = nil) -> Head {
            Head(
                response: response ?? self.response, requestTime: requestTime, responseTime: responseTime, selection: selection,
                extent: extent, lifetimes: lifetimes, isDecoded: isDecoded)
        }
    }
}

/// The lifetimes that an app chooses in place of the lifetimes that the server states.
public struct CacheLifetimes: Sendable, Hashable {
    /// The age up to which the response is fresh.
    public let fresh: Duration
    /// The time after ``fresh`` for which the stale response is used during a background revalidation; `nil`: the time that the server
    /// states.
    public let staleWhileRevalidate: Duration?
    /// The time after ``fresh`` for which the stale response is used if the server fails; `nil`: the time that the server states.
    public let staleIfError: Duration?

    /// Creates lifetimes. A negative duration counts as zero.
    ///
    /// - Parameters:
    ///   - fresh: the age up to which the response is fresh.
    ///   - staleWhileRevalidate: the time for which the stale response is used during a background revalidation.
    ///   - staleIfError: the time for which the stale response is used if the server fails.
    public init(fresh: Duration, staleWhileRevalidate: Duration? = nil, staleIfError: Duration? = nil) {
        self.fresh = max(.zero, fresh)
        self.staleWhileRevalidate = staleWhileRevalidate.map { max(.zero, $0) }
        self.staleIfError = staleIfError.map { max(.zero, $0) }
    }
}
