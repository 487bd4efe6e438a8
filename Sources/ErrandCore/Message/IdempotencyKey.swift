/// A name for a call, by which a server knows that two requests are one (`Idempotency-Key`, draft-ietf-httpapi-idempotency-key-header).
///
/// ```swift
/// var order = try Request(.post, "/orders")
/// order.options.idempotencyKey = .attached        // may be sent again now
/// ```
///
/// The field is a structured string in quotes ([RFC 9651, section 3.3.3](https://www.rfc-editor.org/rfc/rfc9651#section-3.3.3)). It stays
/// the same for every attempt of a call; a new call has a new one.
public struct IdempotencyKey: Sendable, Hashable {
    private let value: String?

    /// A random key, made when the request is sent.
    public static let attached = IdempotencyKey(value: nil)

    /// A key of your own, such as an order's number.
    ///
    /// - Precondition: `value` is printable ASCII, and not empty
    ///   ([RFC 9651, section 3.3.3](https://www.rfc-editor.org/rfc/rfc9651#section-3.3.3)).
    public static func value(_ value: String) -> IdempotencyKey {
        precondition(
            !value.isEmpty && value.utf8.allSatisfy { (0x20...0x7E).contains($0) },
            "value must be printable ASCII, and not empty (is '\(value)')")
        return IdempotencyKey(value: value)
    }

    /// As it stands in the field: quoted, with `"` and `\` escaped.
    fileprivate var field: String {
        let text = value ?? UUID().uuidString.lowercased()
        return "\"" + text.replacing("\\", with: "\\\\").replacing("\"", with: "\\\"") + "\""  // octets: ASCII
    }
}

extension IdempotencyKey: CustomStringConvertible, HidesStorage {
    /// Whether it is a random key. The value of another one is not shown, as it lets anyone ask what became of the call.
    public var description: String { value == nil ? "attached" : "value(\(Sensitivity.urlPlaceholder))" }
}

private enum IdempotencyKeyOption: OptionKey {
    static var defaultValue: IdempotencyKey? { nil }
    static var crossesOrigins: Bool { true }
    static var servedBy: MiddlewarePlace { .retry }
}

extension RequestOptions {
    /// The key that retry attaches to this request, which may be sent again then; `nil` (the default) leaves it to the policy. A field that the
    /// request already has counts instead.
    ///
    /// The stack must have `retry`: ``UnservedOptionError`` otherwise.
    public var idempotencyKey: IdempotencyKey? {
        get { self[IdempotencyKeyOption.self] }
        set { self[IdempotencyKeyOption.self] = newValue }
    }
}

extension Request {
    /// Adds the field where the request, or the policy for its method, asks for it; whether the request has one then.
    public mutating func attachIdempotencyKey(for methods: Set<HTTPRequest.Method>) -> Bool {
        if hasIdempotencyKey { return true }
        guard let key = options.idempotencyKey ?? (methods.contains(method) && !method.isIdempotent ? .attached : nil) else { return false }
        head.headerFields[.idempotencyKey] = key.field
        return true
    }
}
