/// A key that identifies a call, so that a server recognizes repeated requests of the call (`Idempotency-Key`,
/// draft-ietf-httpapi-idempotency-key-header).
///
/// ```swift
/// var order = try Request(.post, "/orders")
/// order.options.idempotencyKey = .attached        // may be sent again now
/// ```
///
/// All attempts of a call have the same key. A new call has a new key.
///
/// If a redirect with the status 307 or 308 leads to another origin, the request keeps the field. The other origin processes the call, and
/// must recognize a repeated request too.
///
/// The field contains the key without quotation marks, because most servers expect this form. The draft requires quotation marks: see
/// ``quoted``.
public struct IdempotencyKey: Sendable, Hashable {
    private let value: String?
    private var isQuoted = false

    private init(value: String?) { self.value = value }

    /// A random key, created when the request is sent.
    public static let attached = IdempotencyKey(value: nil)

    /// Returns your own key, such as the number of an order.
    ///
    /// ```swift
    /// let key = try IdempotencyKey.value("order-\(id)")
    /// let order = try await client.post("/orders", body: .json(cart), as: Order.self) { $0.idempotencyKey = key }
    /// ```
    ///
    /// - Parameter value: printable ASCII, not empty, without a space at its beginning or end
    ///   ([RFC 9110, section 5.5](https://www.rfc-editor.org/rfc/rfc9110#section-5.5)).
    /// - Throws: ``InvalidFieldError`` for any other value. The error does not show the value.
    public static func value(_ value: String) throws(InvalidFieldError) -> IdempotencyKey {
        let octets = Array(value.utf8)
        let position = octets.isEmpty ? 0 : InvalidFieldError.invalidPosition(in: octets) { (0x20...0x7E).contains($0) }
        if let position {
            throw InvalidFieldError(.invalidValue, of: .idempotencyKey, in: value, at: position, isSecret: true)
        }
        return IdempotencyKey(value: value)
    }

    /// This key as a structured string, in quotation marks: `options.idempotencyKey = .attached.quoted`
    /// ([RFC 9651, section 3.3.3](https://www.rfc-editor.org/rfc/rfc9651#section-3.3.3)). The specification
    /// draft-ietf-httpapi-idempotency-key-header requires this form.
    public var quoted: IdempotencyKey {
        var key = self
        key.isQuoted = true
        return key
    }

    /// The value of the field. In a quoted key, `"` and `\` are escaped.
    fileprivate var field: String {
        let text = value ?? UUID().uuidString.lowercased()
        guard isQuoted else { return text }
        return "\"" + text.replacing("\\", with: "\\\\").replacing("\"", with: "\\\"") + "\""  // octets: ASCII
    }
}

extension IdempotencyKey: CustomStringConvertible, HidesStorage {
    /// The kind of key: random or your own. The value of your own key is not shown, because anyone with the key can ask for
    /// the result of the call.
    public var description: String { value == nil ? "attached" : "value(\(Sensitivity.urlPlaceholder))" }
}

private enum IdempotencyKeyOption: CrossOriginOptionKey {
    static var defaultValue: IdempotencyKey? { nil }
    static var requiredMiddleware: MiddlewarePlace { .retry }
}

extension RequestOptions {
    /// The key that `retry` attaches to this request, so that the request may be sent again. With `nil`, the default, the retry
    /// policy decides whether the request gets a key. If the request already has the field, the field stays and this option has
    /// no effect.
    ///
    /// If the option has a key, and the stack has no `retry`, the request fails with ``UnsupportedOptionError``.
    public var idempotencyKey: IdempotencyKey? {
        get { self[IdempotencyKeyOption.self] }
        set { self[IdempotencyKeyOption.self] = newValue }
    }
}

extension Request {
    /// Adds the field `Idempotency-Key` if the request's options or the policy for its method ask for a key.
    ///
    /// - Parameter methods: the methods for which the policy asks for a key. Idempotent methods are ignored.
    /// - Returns: whether the request has the field after the call of this function.
    public mutating func attachIdempotencyKey(for methods: Set<HTTPRequest.Method>) -> Bool {
        if hasIdempotencyKey { return true }
        guard let key = options.idempotencyKey ?? (methods.contains(method) && !method.isIdempotent ? .attached : nil) else { return false }
        head.headerFields[.idempotencyKey] = key.field
        return true
    }
}
