public import HTTPTypes

/// What a server says of its rate limits in the fields of a response.
///
/// Read are, in this order: `Retry-After` (RFC 9110, 10.2.3) and `X-RateLimit-Retry-After`, with 429 and 503 only; `RateLimit` with
/// `RateLimit-Policy` (draft-ietf-httpapi-ratelimit-headers, also as its revision 7 has it); then the older triples `RateLimit-Limit`, `-Remaining`
/// and `-Reset`, the same behind `X-`, and `X-Rate-Limit-…`. The first that says something counts. What can't be read is ignored.
public struct RateLimitFields: Sendable, Hashable {
    /// So many requests at most, for so long. It promises nothing: a server may refuse before.
    public struct Quota: Sendable, Hashable {
        /// Tells one quota of a server from another; empty for the older fields.
        public var name: String
        /// How many requests may still be sent.
        public var remaining: Int
        /// For how long; then there are more.
        public var reset: Duration
        /// How many there are in each window; nil where the server does not say.
        public var limit: Int?
        /// The length of a window; nil where the server does not say.
        public var window: Duration?
        /// Which part of the quota it is: of a user, say; nil where there are no parts.
        public var partitionKey: [UInt8]?

        public init(
            name: String = "", remaining: Int, reset: Duration, limit: Int? = nil, window: Duration? = nil, partitionKey: [UInt8]? = nil
        ) {
            (self.name, self.remaining, self.reset) = (name, remaining, reset)
            (self.limit, self.window, self.partitionKey) = (limit, window, partitionKey)
        }
    }

    /// How long the server wants no request; nil where it does not say.
    public var retryAfter: Duration?
    /// At most eight. Empty with a `retryAfter`, which takes precedence.
    public var quotas: [Quota]

    /// Whether nothing was said.
    public var isEmpty: Bool { retryAfter == nil && quotas.isEmpty }

    public init(retryAfter: Duration? = nil, quotas: [Quota] = []) { (self.retryAfter, self.quotas) = (retryAfter, quotas) }

    /// Reads the fields of a response.
    ///
    /// - Parameter now: by the client's clock. The response's own `Date` counts instead where there is one.
    public init(_ response: HTTPResponse, now: HTTPDate) {
        self.init()
        let fields = response.headerFields
        let isRefused = [429, 503].contains(response.status.code)
        let date = fields[.date].flatMap { HTTPDate($0, now: now) } ?? now
        if isRefused {
            retryAfter = fields[.retryAfter].flatMap { RetryAfter.wait($0, date: fields[.date], now: now) }
            retryAfter = retryAfter ?? fields[.xRateLimitRetryAfter].flatMap { Self.wait($0, now: date) }
            if retryAfter != nil { return }
        }
        for read in [Self.current, Self.revision7] where quotas.isEmpty { quotas = Array(read(fields).prefix(Self.quotaLimit)) }
        for names in Names.older where quotas.isEmpty {
            if let quota = Self.older(fields, names, isRefused: isRefused, now: date) { quotas = [quota] }
        }
    }

    private static let quotaLimit = 8

    /// A value that is longer than what is read of a field counts as one that can't be read.
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
            // Without its end, a quota lasts as long as a window at most.
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
                limit: limit, window: seconds(item.parameters["w"], orIfMissing: nil), countsRequests: unit == "requests")
        }
        return policies
    }

    /// A dictionary with `limit`, `remaining` and `reset`.
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
            // The one that can't be mistaken comes first.
            Names(
                limit: .known("\(prefix)-Limit"), remaining: .known("\(prefix)-Remaining"),
                reset: [.known("\(prefix)-Reset-After"), .known("\(prefix)-Reset")])
        }
    }

    private static func older(_ fields: HTTPFields, _ names: Names, isRefused: Bool, now: HTTPDate) -> Quota? {
        guard let reset = names.reset.lazy.compactMap({ fields[$0].flatMap { wait($0, now: now) } }).first else { return nil }
        // A server that refuses has none left, whether or not it says so.
        guard let remaining = fields[names.remaining].map(count) ?? (isRefused ? 0 : nil) else { return nil }
        let (limit, window) = short(fields[names.limit]).map(policy) ?? (nil, nil)
        return Quota(remaining: remaining, reset: reset, limit: limit, window: window)
    }

    /// `100`, and `100, 100;w=60` as earlier revisions have it.
    private static func policy(_ value: String) -> (limit: Int?, window: Duration?) {
        guard let members = try? StructuredList(parsing: value).members, let limit = count(members.first?.item?.value) else {
            return (nil, nil)
        }
        let own = members.first { $0.item?.value.integerValue == Int64(limit) && $0.parameters["w"] != nil }
        return (limit, own.flatMap { seconds($0.parameters["w"], orIfMissing: nil) })
    }

    private static func count(_ value: String) -> Int? { number(value).map { Int(min($0, 1e15)) } }

    /// From now: a small number is seconds, a large one a point in time, in seconds or milliseconds since 1970.
    private static func wait(_ value: String, now: HTTPDate) -> Duration? {
        guard let number = number(value) else { return nil }
        switch number {
        case ..<1e9: return .seconds(number)
        case ..<1e12: return .seconds(max(0, number - Double(now.secondsSinceEpoch)))
        default: return .seconds(min(max(0, number / 1000 - Double(now.secondsSinceEpoch)), 1e12))
        }
    }

    /// Digits, and perhaps a point with digits behind it.
    private static func number(_ value: String) -> Double? {
        let text = value.trimmingOptionalWhitespace()
        guard text.utf8.count <= 20 else { return nil }
        let parts = text.split(separator: ".", omittingEmptySubsequences: false)
        guard parts.count <= 2,
            parts.allSatisfy({ !$0.isEmpty && $0.utf8.allSatisfy { (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0) } })
        else { return nil }
        return Double(text)
    }
}

extension HTTPField.Name {
    fileprivate static let rateLimit = known("RateLimit")
    fileprivate static let rateLimitPolicy = known("RateLimit-Policy")
    fileprivate static let xRateLimitRetryAfter = known("X-RateLimit-Retry-After")
}
