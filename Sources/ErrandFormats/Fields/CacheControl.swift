public import HTTPTypes

/// The directives of the `Cache-Control` fields of a message
/// ([RFC 9111, section 5.2](https://www.rfc-editor.org/rfc/rfc9111#section-5.2)).
///
/// ```swift
/// let control = CacheControl(response.headers)
/// control.maxAge                          // 600 seconds for "max-age=600, must-revalidate"
/// control.contains(.mustRevalidate)       // true
/// ```
///
/// Requests and responses share this type. The reader accepts all input. If a part is invalid or contradictory, the more careful
/// meaning applies:
///
/// - A number may be a token or a quoted string. A number above 2^31 counts as 2^31 ([RFC 9111, section
///   1.2.2](https://www.rfc-editor.org/rfc/rfc9111#section-1.2.2)).
/// - If `max-age` or `s-maxage` is invalid, or occurs with different numbers, its number is 0. With this number, a response is stale ([RFC
///   9111, section 4.2.1](https://www.rfc-editor.org/rfc/rfc9111#section-4.2.1)).
/// - An invalid `min-fresh` counts as 2^31 seconds. Of several numbers, the largest counts.
/// - An invalid `max-stale`, `stale-while-revalidate` or `stale-if-error` permits nothing. Of several numbers, the smallest counts.
/// - A directive that restricts a cache counts even with an argument that its grammar does not allow. A directive that permits
///   something, such as `public`, counts only without an argument.
/// - Directives within a quoted string are ignored. If the closing quotation mark is missing, the directives that restrict a cache still
///   count, and ``maxAge`` and ``sharedMaxAge`` are 0.
///
/// Unknown directives are ignored. The case of a directive's name does not matter.
public struct CacheControl: Sendable, Hashable {
    /// A directive without a number.
    public struct Directive: Sendable, Hashable {
        fileprivate let bit: UInt16
        fileprivate init(_ number: UInt16) { bit = 1 << number }

        /// `no-store`: nothing of the message may be stored.
        public static let noStore = Directive(0)
        /// `no-cache` without field names: a stored response needs validation before each use.
        public static let noCache = Directive(1)
        /// `private` without field names: only a private cache may store the response.
        public static let `private` = Directive(2)
        /// `public`: a cache may store the response, even if other rules would forbid this.
        public static let `public` = Directive(3)
        /// `must-revalidate`: a cache must not use the response while it is stale.
        public static let mustRevalidate = Directive(4)
        /// `proxy-revalidate`: a shared cache must not use the response while it is stale.
        public static let proxyRevalidate = Directive(5)
        /// `must-understand`: only a cache that implements the status of the response may store the response. A cache that implements the
        /// status ignores `no-store`.
        public static let mustUnderstand = Directive(6)
        /// `immutable`: the response does not change while it is fresh ([RFC 8246](https://www.rfc-editor.org/rfc/rfc8246)).
        public static let immutable = Directive(7)
        /// `only-if-cached`: the client wants only a stored response.
        public static let onlyIfCached = Directive(8)
        /// `no-transform`: an intermediary must not change the content.
        public static let noTransform = Directive(9)
    }

    /// A permission to use a stale response, from `max-stale`.
    public enum Staleness: Sendable, Hashable {
        /// A response of any age.
        case any
        /// A response that is stale for at most this number of seconds.
        case seconds(Int64)
    }

    /// The largest number of seconds in a field: 2^31, about 68 years.
    package static let longestSeconds: Int64 = 1 << 31
    /// The largest number of field names in `no-cache` and `private`. With more names, the directive counts as a directive without names.
    static let namesLimit = 64

    /// The number of `max-age`, in seconds; `nil` if the directive is missing. If a closing quotation mark is missing in the field, the
    /// number is 0.
    public private(set) var maxAge: Int64?
    /// The number of `s-maxage`, for shared caches, in seconds; `nil` if the directive is missing. If a closing quotation mark is missing
    /// in the field, the number is 0.
    public private(set) var sharedMaxAge: Int64?
    /// The number of `min-fresh`, in seconds; `nil` if the directive is missing.
    public private(set) var minFresh: Int64?
    /// The permission of `max-stale`; `nil` if the directive is missing. An invalid directive is read as 0 seconds.
    public private(set) var maxStale: Staleness?
    /// The number of `stale-while-revalidate`, in seconds ([RFC 5861, section 3](https://www.rfc-editor.org/rfc/rfc5861#section-3)); `nil`
    /// if the directive is missing. An invalid directive is read as 0.
    public private(set) var staleWhileRevalidate: Int64?
    /// The number of `stale-if-error`, in seconds ([RFC 5861, section 4](https://www.rfc-editor.org/rfc/rfc5861#section-4)); `nil` if the
    /// directive is missing. An invalid directive is read as 0.
    public private(set) var staleIfError: Int64?
    /// The fields that `no-cache` names, each once, spelled as at the first occurrence; empty if `no-cache` names no field.
    public private(set) var noCacheFields: [HTTPField.Name] = []
    /// The fields that `private` names, each once, spelled as at the first occurrence; empty if `private` names no field.
    public private(set) var privateFields: [HTTPField.Name] = []

    private var bits: UInt16 = 0
    /// Whether there is a directive, known or unknown.
    private var isPresent = false

    /// Reads the `Cache-Control` fields of a message, in order.
    public init(_ fields: HTTPFields) {
        self.init(fields.contains(.cacheControl) ? fields[values: .cacheControl] : [])
    }

    /// Reads the values of `Cache-Control` fields, in order.
    public init(_ values: some Sequence<String>) {
        for value in values {
            var reader = FieldReader(value)
            while let directive = reader.cacheDirective() { add(directive) }
        }
    }

    /// Whether there is no directive, not even an unknown directive.
    public var isEmpty: Bool { !isPresent }

    /// Returns whether a directive without a number is among the directives.
    public func contains(_ directive: Directive) -> Bool { bits & directive.bit != 0 }

    // MARK: - Reading

    private mutating func add(_ directive: CacheDirective) {
        isPresent = true
        if directive.isUnterminated { (maxAge, sharedMaxAge) = (0, 0) }
        let argument = directive.argument
        switch directive.name {  // octets: a token, so ASCII
        case "max-age": maxAge = Self.agreed(maxAge, directive.seconds)
        case "s-maxage": sharedMaxAge = Self.agreed(sharedMaxAge, directive.seconds)
        case "min-fresh": minFresh = max(minFresh ?? 0, directive.seconds ?? Self.longestSeconds)
        case "max-stale": addStaleness(directive)
        case "stale-while-revalidate": staleWhileRevalidate = min(staleWhileRevalidate ?? .max, directive.seconds ?? 0)
        case "stale-if-error": staleIfError = min(staleIfError ?? .max, directive.seconds ?? 0)
        case "no-cache": addNames(argument, to: \.noCacheFields, or: .noCache)
        case "private": addNames(argument, to: \.privateFields, or: .private)
        case "no-store": insert(.noStore)
        case "must-revalidate": insert(.mustRevalidate)
        case "proxy-revalidate": insert(.proxyRevalidate)
        case "only-if-cached": insert(.onlyIfCached)
        case "no-transform": insert(.noTransform)
        case "public" where directive.isBare: insert(.public)
        case "immutable" where directive.isBare: insert(.immutable)
        case "must-understand" where directive.isBare: insert(.mustUnderstand)
        default: break
        }
    }

    private mutating func insert(_ directive: Directive) { bits |= directive.bit }

    /// Returns the number of a directive after another occurrence: 0 if this occurrence is invalid, or has a different number.
    private static func agreed(_ known: Int64?, _ next: Int64?) -> Int64 {
        guard let next, known == nil || known == next else { return 0 }
        return next
    }

    private mutating func addStaleness(_ directive: CacheDirective) {
        let next: Staleness = directive.isBare ? .any : .seconds(directive.seconds ?? 0)
        switch (maxStale, next) {
        case (.seconds(let known), .seconds(let next)): maxStale = .seconds(min(known, next))
        case (.seconds, .any): break
        default: maxStale = next
        }
    }

    /// Adds the field names of an argument. If the argument is missing or invalid, the directive applies to the whole response.
    private mutating func addNames(_ argument: String?, to list: WritableKeyPath<CacheControl, [HTTPField.Name]>, or whole: Directive) {
        guard let argument, !argument.isEmpty else { return insert(whole) }
        var known = self[keyPath: list]
        for text in argument.listMembers {
            guard text.utf8.count <= FieldLimits.nameBytes, let name = HTTPField.Name(text) else { return insert(whole) }
            if !known.contains(name) { known.append(name) }  // octets: names of fields are ASCII
            guard known.count <= Self.namesLimit else { return insert(whole) }
        }
        guard !known.isEmpty else { return insert(whole) }
        self[keyPath: list] = known
    }
}

/// One directive of a `Cache-Control` field.
private struct CacheDirective {
    /// The name in lower case.
    var name: String
    /// The text of the argument; `nil` if the directive has no argument.
    var argument: String?
    /// Whether other octets follow the directive before the next separator.
    var isMalformed = false
    /// Whether the closing quotation mark of the argument is missing.
    var isUnterminated = false

    /// Whether the directive is only a name.
    var isBare: Bool { argument == nil && !isMalformed && !isUnterminated }

    /// The argument as a number of seconds; `nil` if the argument is not a number.
    var seconds: Int64? { isMalformed || isUnterminated ? nil : argument.flatMap { DeltaSeconds.read($0) } }
}

extension FieldReader {
    /// Reads the next directive; `nil` at the end of the value.
    fileprivate mutating func cacheDirective() -> CacheDirective? {
        while true {
            skip { $0.isOptionalSpace || $0 == UInt8(ascii: ",") || $0 == UInt8(ascii: ";") }
            guard next != nil else { return nil }
            if let name = token() {
                var directive = CacheDirective(name: name.lowercased())
                if take("=") { readArgument(of: &directive) }
                skip(\.isOptionalSpace)
                if let next, next != UInt8(ascii: ",") {
                    directive.isMalformed = true
                    if !directive.isUnterminated { skipToSeparator() }
                }
                return directive
            }
            skipToSeparator()
        }
    }

    private mutating func readArgument(of directive: inout CacheDirective) {
        guard next == UInt8(ascii: "\"") else {
            directive.argument = token() ?? ""
            return
        }
        let start = position
        if let text = quoted() {
            directive.argument = text
        } else {
            // The closing quotation mark is missing. Therefore the text after the opening quotation mark is read as directives.
            position = start + 1
            directive.argument = ""
            directive.isUnterminated = true
        }
    }

    /// Skips invalid octets up to a comma or a semicolon.
    private mutating func skipToSeparator() {
        skip { $0 != UInt8(ascii: ",") && $0 != UInt8(ascii: ";") }
    }
}
