public import HTTPTypes

/// The rate limits that a server states in the fields of a response.
///
/// ```swift
/// let fields = RateLimitFields(response.head, now: HTTPDate(secondsSinceEpoch: now))
/// fields.retryAfter             // 30 seconds
/// fields.quotas.first?.remaining
/// ```
///
/// These fields are read, in this order. The first valid field applies:
/// - `Retry-After` ([RFC 9110, section 10.2.3](https://www.rfc-editor.org/rfc/rfc9110#section-10.2.3)) and `X-RateLimit-Retry-After`,
///   only with status 429 and 503
/// - `RateLimit` with `RateLimit-Policy`
///   ([draft-ietf-httpapi-ratelimit-headers](https://datatracker.ietf.org/doc/draft-ietf-httpapi-ratelimit-headers/)), including
///   the form of revision 7 of the draft
/// - the older fields `RateLimit-Limit`, `RateLimit-Remaining` and `RateLimit-Reset`
/// - the same three fields with another prefix: `X-RateLimit-…`, then `X-Rate-Limit-…`
///
/// Invalid fields are ignored. If several fields have the same name, the first field is used, unless the field is a list.
public struct RateLimitFields: Sendable, Hashable {
    /// A number of requests that may be sent within a duration. The number is not a promise. The server may refuse a request
    /// although the number is not reached.
    public struct Quota: Sendable, Hashable {
        /// The name that distinguishes quotas of one server; empty for the older fields.
        public var name: String
        /// The number of requests that may still be sent.
        public var remaining: Int
        /// The duration after which the quota is renewed.
        public var reset: Duration
        /// The number of requests in each window; `nil` if the server does not state this number.
        public var limit: Int?
        /// The length of a window; `nil` if the server does not state this length.
        public var window: Duration?
        /// The key of a part of the quota, for example the part of one user; `nil` if the quota has no parts.
        public var partitionKey: [UInt8]?

        /// Creates a quota. For each parameter, see the property of the same name.
        public init(
            name: String = "", remaining: Int, reset: Duration, limit: Int? = nil, window: Duration? = nil, partitionKey: [UInt8]? = nil
        ) {
            (self.name, self.remaining, self.reset) = (name, remaining, reset)
            (self.limit, self.window, self.partitionKey) = (limit, window, partitionKey)
        }
    }

    /// The duration in which the server wants no request; `nil` if the server states no duration.
    public var retryAfter: Duration?
    /// The quotas, at most eight. Empty if there is a `retryAfter`, which takes precedence.
    public var quotas: [Quota]

    /// Whether the server stated no limits.
    public var isEmpty: Bool { retryAfter == nil && quotas.isEmpty }

    /// Creates a value from its parts.
    public init(retryAfter: Duration? = nil, quotas: [Quota] = []) { (self.retryAfter, self.quotas) = (retryAfter, quotas) }

    /// Reads the fields of a response.
    ///
    /// - Parameters:
    ///   - response: the head of the response.
    ///   - now: the time of the client's clock. If the response has a `Date` field, the time of that field is used instead.
    public init(_ response: HTTPResponse, now: HTTPDate) {
        self.init()
        let fields = response.headerFields
        let isRefused = response.status.isOverload
        let date = fields.single(.date).flatMap { HTTPDate($0, now: now) } ?? now
        if isRefused {
            retryAfter = fields.single(.retryAfter).flatMap { RetryAfter.wait($0, date: fields.single(.date), now: now) }
            retryAfter = retryAfter ?? fields.single(.xRateLimitRetryAfter).flatMap { Self.wait($0, now: date) }
            if retryAfter != nil { return }
        }
        for read in [Self.current, Self.revision7] where quotas.isEmpty { quotas = Array(read(fields).prefix(Self.quotaLimit)) }
        for names in Names.older where quotas.isEmpty {
            if let quota = Self.older(fields, names, isRefused: isRefused, now: date) { quotas = [quota] }
        }
    }

    private static let quotaLimit = 8

    /// Returns the value; `nil` if the value is longer than the limit, because a longer value is treated as invalid.
    private static func short(_ value: String?) -> String? { value.flatMap { $0.utf8.count <= FieldLimits.valueBytes ? $0 : nil } }

    // MARK: The draft

    private struct Policy {
        var limit: Int?
        var window: Duration?
        var countsRequests = true
    }

    private static func current(_ fields: HTTPFields) -> [Quota] {
        guard let value = short(fields[.rateLimit]), let list = try? StructuredList(parsing: value) else { return [] }
        let policies = policies(fields)
        return list.members.compactMap { member in
            guard let item = member.item, let name = item.value.stringValue, let remaining = count(item.parameters["r"]) else { return nil }
            let policy = policies[name] ?? Policy()
            // Without a reset time, a quota lasts for at most a window.
            guard policy.countsRequests, let reset = seconds(item.parameters["t"], orIfMissing: policy.window) else { return nil }
            return Quota(
                name: name, remaining: remaining, reset: reset, limit: policy.limit, window: policy.window,
                partitionKey: item.parameters["pk"]?.byteSequenceValue)
        }
    }

    private static func policies(_ fields: HTTPFields) -> [String: Policy] {
        guard let value = short(fields[.rateLimitPolicy]), let list = try? StructuredList(parsing: value) else { return [:] }
        var policies: [String: Policy] = [:]
        for case .item(let item) in list.members {
            guard let name = item.value.stringValue, let limit = count(item.parameters["q"]) else { continue }
            let unit = item.parameters["qu"].map { $0.stringValue ?? $0.tokenValue ?? "" } ?? "requests"
            policies[name] = Policy(
                limit: limit, window: seconds(item.parameters["w"], orIfMissing: nil), countsRequests: unit.isExactly("requests"))
        }
        return policies
    }

    /// Reads a dictionary with `limit`, `remaining` and `reset`.
    private static func revision7(_ fields: HTTPFields) -> [Quota] {
        guard let value = short(fields[.rateLimit]), let dictionary = try? StructuredDictionary(parsing: value),
            let remaining = count(dictionary["remaining"]?.item?.value),
            let reset = seconds(dictionary["reset"]?.item?.value, orIfMissing: nil)
        else { return [] }
        return [Quota(remaining: remaining, reset: reset, limit: count(dictionary["limit"]?.item?.value))]
    }

    private static func count(_ value: StructuredBareItem?) -> Int? {
        value?.integerValue.flatMap { $0 >= 0 ? Int(clamping: $0) : nil }
    }

    private static func seconds(_ value: StructuredBareItem?, orIfMissing other: Duration?) -> Duration? {
        guard let value else { return other }
        return value.integerValue.flatMap { $0 >= 0 ? .seconds(min($0, 1 << 40)) : nil }
    }

    // MARK: The older fields

    private struct Names {
        let limit: HTTPField.Name
        let remaining: HTTPField.Name
        let reset: [HTTPField.Name]

        static let older: [Names] = ["RateLimit", "X-RateLimit", "X-Rate-Limit"].map { prefix in
            // `Reset-After` comes first, because its value is certainly a duration. The value of `Reset` may also be an instant.
            Names(
                limit: .known("\(prefix)-Limit"), remaining: .known("\(prefix)-Remaining"),
                reset: [.known("\(prefix)-Reset-After"), .known("\(prefix)-Reset")])
        }
    }

    private static func older(_ fields: HTTPFields, _ names: Names, isRefused: Bool, now: HTTPDate) -> Quota? {
        guard let reset = names.reset.lazy.compactMap({ fields.single($0).flatMap { wait($0, now: now) } }).first else { return nil }
        // If a server refuses a request, the server allows no further requests, even if no field states the remaining number.
        guard let remaining = fields.single(names.remaining).map(count) ?? (isRefused ? 0 : nil) else { return nil }
        let (limit, window) = short(fields[names.limit]).map(policy) ?? (nil, nil)
        return Quota(remaining: remaining, reset: reset, limit: limit, window: window)
    }

    /// Reads a limit: `100`, or `100, 100;w=60` as in earlier revisions of the draft.
    private static func policy(_ value: String) -> (limit: Int?, window: Duration?) {
        guard let members = try? StructuredList(parsing: value).members, let limit = count(members.first?.item?.value) else {
            return (nil, nil)
        }
        let own = members.first { $0.item?.value.integerValue == Int64(limit) && $0.parameters["w"] != nil }
        return (limit, own.flatMap { seconds($0.parameters["w"], orIfMissing: nil) })
    }

    private static func count(_ value: String) -> Int? { number(value).map { Int(min($0, 1e15)) } }

    /// Returns the duration from now. A number below 10⁹ is a duration in seconds. A larger number is an instant, counted from
    /// 1970 in seconds. From 10¹² on, the number is in milliseconds.
    private static func wait(_ value: String, now: HTTPDate) -> Duration? {
        guard let number = number(value) else { return nil }
        switch number {
        case ..<1e9: return .seconds(number)
        case ..<1e12: return .seconds(max(0, number - Double(now.secondsSinceEpoch)))
        default: return .seconds(min(max(0, number / 1000 - Double(now.secondsSinceEpoch)), 1e12))
        }
    }

    /// Reads digits, with an optional point and further digits.
    private static func number(_ value: String) -> Double? {
        let text = value.trimmingOptionalWhitespace()
        guard text.utf8.count <= 20 else { return nil }
        let parts = text.split(atOctet: UInt8(ascii: "."), omittingEmptyPieces: false)
        guard parts.count <= 2, parts.allSatisfy({ !$0.isEmpty && $0.utf8.allSatisfy(\.isASCIIDigit) }) else { return nil }
        return Double(text)
    }
}

extension HTTPField.Name {
    fileprivate static let rateLimit = known("RateLimit")
    fileprivate static let rateLimitPolicy = known("RateLimit-Policy")
    fileprivate static let xRateLimitRetryAfter = known("X-RateLimit-Retry-After")
}

extension HTTPResponse.Status {
    /// Whether the server refuses the request because of too many requests. The result is true for 429 and 503.
    package var isOverload: Bool { self == .tooManyRequests || self == .serviceUnavailable }
}
