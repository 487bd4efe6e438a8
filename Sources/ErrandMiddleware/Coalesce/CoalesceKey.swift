public import ErrandCore

/// The parts of a request that must be equal in requests that share an exchange. A key contains secrets. Therefore a key is kept only in
/// memory, and the description of a key shows no secret.
struct CoalesceKey: Hashable, Sendable {
    private let method: HTTPRequest.Method
    private let url: [String?]
    private let fields: [HTTPField.Name: [String]]
    private let body: Data
    private let options: RequestOptions.Identity
    private let own: String?
    /// The phase limits of the stack. A conditional layer of the stack may set different limits for different requests.
    private let limits: [Duration?]?

    // The fields that are always compared. With a different value in one of these fields, the server may send another response for the same
    // URL, or the body has another meaning.
    private static let decisive: Set<HTTPField.Name> = [
        .range, .ifRange, .ifMatch, .ifNoneMatch, .ifModifiedSince, .ifUnmodifiedSince, .contentType, .contentEncoding,
    ]

    /// Creates the key of a request; `nil` for a request that can't share an exchange.
    init?(_ request: Request, by choice: CoalesceMiddleware.Fields, own: String?) {
        let options = request.options
        guard request.method.isSafe, request.head.authority != nil, let body = request.body.bufferedData, let identity = options.identity
        else { return nil }
        method = request.method
        url = [request.head.scheme, request.head.authority, request.head.path]
        self.body = body
        self.own = own
        var fields: [HTTPField.Name: [String]] = [:]
        func add(_ field: HTTPField) {
            guard choice.includes(field.name) || Self.decisive.contains(field.name) || options.sensitivity.isSensitive(field) else {
                return
            }
            fields[field.name, default: []].append(field.value)
        }
        for field in request.completedFields { add(field) }
        self.fields = fields
        self.options = identity
        limits = options.call.phaseLimits?.limits.durations
    }
}

extension CoalesceKey: CustomStringConvertible, HidesStorage {
    var description: String { "\(method.rawValue) with \(fields.count.counted("field"))" }
}

extension CoalesceMiddleware {
    /// The fields that must be equal in two requests, in any order and regardless of the case of their names.
    ///
    /// ```swift
    /// stack.coalesce(by: .all(except: [HTTPField.Name("X-Client-Time")!]))
    /// ```
    ///
    /// For every choice of fields, these fields must also be equal:
    ///
    /// - sensitive fields, so that no caller gets a response that was sent for another caller's credentials. A field is
    ///   sensitive if ``/ErrandCore/Sensitivity`` has its name, if the request declares its name, or if the field has the
    ///   never-index flag
    /// - `Range` and the conditional fields
    /// - the `Content-Type` and `Content-Encoding` of a body
    public struct Fields: Sendable, CustomStringConvertible {
        private enum Choice: Sendable {
            case allBut(Set<HTTPField.Name>)
            case only(Set<HTTPField.Name>)
        }

        /// Fields that have a new value in every request. Examples are trace contexts, and fields that usually contain a
        /// request's ID.
        public static let perRequest: [HTTPField.Name] =
            [
                "traceparent", "tracestate", "baggage", "x-request-id", "request-id", "x-correlation-id", "correlation-id", "b3",
                "x-b3-traceid", "x-b3-spanid", "x-b3-parentspanid", "x-b3-sampled", "x-b3-flags", "x-amzn-trace-id",
                "x-cloud-trace-context", "uber-trace-id", "sentry-trace", "x-datadog-trace-id", "x-datadog-parent-id",
                "x-datadog-sampling-priority",
            ].compactMap { HTTPField.Name($0) }

        private let choice: Choice
        /// The choice as text, for example `all fields but x-client-time`.
        public let description: String

        /// All fields except the fields in ``perRequest``. The default.
        public static let all = all(except: [])

        /// Returns all fields except the fields in `names` and in ``perRequest``.
        public static func all(except names: [HTTPField.Name]) -> Fields {
            Fields(
                choice: .allBut(Set(perRequest + names)),
                description: "all fields" + (names.isEmpty ? "" : " but \(names.map(\.rawName).joined(separator: ", "))"))
        }

        /// Only the fields in `names`.
        public static func only(_ names: [HTTPField.Name]) -> Fields {
            Fields(choice: .only(Set(names)), description: "only \(names.map(\.rawName).joined(separator: ", "))")
        }

        func includes(_ name: HTTPField.Name) -> Bool {
            switch choice {
            case .allBut(let names): !names.contains(name)
            case .only(let names): names.contains(name)
            }
        }
    }
}
