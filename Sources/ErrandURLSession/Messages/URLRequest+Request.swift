public import ErrandCore
internal import ErrandFormats

#if canImport(FoundationNetworking)
internal import Foundation
public import FoundationNetworking
#else
public import Foundation
#endif

extension URLRequest {
    /// Creates a request for `URLSession` from a request of this library.
    ///
    /// ```swift
    /// let (data, response) = try await URLSession.shared.data(for: URLRequest(request))
    /// ```
    ///
    /// The method, the URL and the header fields are copied. Fields of one name are joined with `, `. Fields with the name `Cookie` are
    /// joined with `; `. The body may be in memory, or a whole file. `Content-Length` and `Transfer-Encoding` are left out, because
    /// `URLSession` sets them. Options, such as the deadline, are not copied.
    ///
    /// - Throws: ``/ErrandCore/InvalidURLError``; ``/ErrandCore/TransportError`` with the code `unsupported` if `URLSession` can't send the
    ///   request. These parts are not supported: a stream, a part of a file, the target `*`, and the fields `Host`, `Connection` and
    ///   `Proxy-Authorization`.
    public init(_ request: Request) throws {
        try self.init(headOf: request)
        if let file = request.body.file, file.range == nil {
            httpBodyStream = InputStream(fileAtPath: file.path)
        } else if let data = request.body.bufferedData {
            if !data.isEmpty { httpBody = data }
        } else {
            throw request.notSupported("a URLRequest can't have a body that is a stream or a part of a file")
        }
        if request.headers.contains(.proxyAuthorization) { throw request.notSupported("URLSession sets the field Proxy-Authorization") }
    }

    /// Creates a request without a body.
    init(headOf request: Request) throws {
        guard !request.head.path.isExactly("*") || request.method != .options else {
            throw request.notSupported("URLSession can't send the target '*' (RFC 9112, section 3.2.4)")
        }
        let text = try request.urlText()
        // Foundation may repair a URL. With a repaired URL, the server would receive another target than the outer layers have seen.
        guard let url = URL(string: text), url.absoluteString.isExactly(text) else {
            throw request.notSupported("URLSession can't send this URL octet for octet")
        }
        self.init(url: url)
        httpMethod = request.method.rawValue
        httpShouldHandleCookies = false
        cachePolicy = .reloadIgnoringLocalCacheData
        var fields = JoinedFields()
        for field in request.headers.withOneCookie {
            if field.name == .contentLength || field.name == .transferEncoding || field.name == .proxyAuthorization { continue }
            fields.append(field)
        }
        try Self.checkReserved(fields, of: request)
        fields.remove("host")
        for (name, value) in fields.joined { setValue(value, forHTTPHeaderField: name) }
        // A part of an encoded body can't be decoded (RFC 9110, 14.2). Therefore, a request for a range asks for no coding.
        if fields["range"] != nil, fields["accept-encoding"] == nil { setValue("identity", forHTTPHeaderField: "Accept-Encoding") }
    }

    /// Refuses the fields that only `URLSession` may set.
    private static func checkReserved(_ fields: JoinedFields, of request: Request) throws {
        if let hosts = fields["host"], hosts.count != 1 || !hosts[0].isExactlyIgnoringCase(request.head.authority ?? "") {
            throw request.notSupported("URLSession sets the field Host, which must be the authority of the URL")
        }
        if fields["connection"] != nil { throw request.notSupported("URLSession sets the field Connection") }
    }
}

extension Request {
    func notSupported(_ message: String) -> TransportError {
        TransportError(.unsupported, phase: .request, message: message, request: self, delivery: .notSent)
    }

    /// Creates a request from a request of `URLSession`.
    ///
    /// ```swift
    /// let response = try await stack.send(Request(urlRequest))
    /// ```
    ///
    /// The method, the URL, the header fields and the body are copied. A body stream can be sent only once. The cache policy and the
    /// settings of the network are not copied: use the options and the middleware of this library.
    ///
    /// If `timeoutInterval` differs from the default of `URLRequest`, 60 seconds, the interval sets the phase limits of the request:
    /// `connect`, `firstByte`, `idleRead` and `idleWrite` of `options.phaseTimeouts`. Like `timeoutInterval`, these limits begin again with
    /// each chunk of a body. The default, zero and an infinite interval set no limit, so that only the timeouts of the stack apply.
    ///
    /// - Throws: ``/ErrandCore/InvalidURLError`` if the request has no URL, or a URL that is not `http` or `https`;
    ///   ``/ErrandCore/TransportError`` with the code `invalidRequest` for an invalid method or header field.
    public init(_ urlRequest: URLRequest) throws {
        var fields = HTTPFields()
        for (name, value) in (urlRequest.allHTTPHeaderFields ?? [:]).sorted(by: { $0.key.utf8.lexicographicallyPrecedes($1.key.utf8) }) {
            guard let name = HTTPField.Name(name) else { throw Self.invalid("the name of a header field is not valid") }
            fields.append(HTTPField(name: name, value: value))
        }
        guard let method = HTTPRequest.Method(urlRequest.httpMethod ?? "GET") else { throw Self.invalid("the method is not valid") }
        var body = RequestBody.empty
        if let data = urlRequest.httpBody {
            body = .data(data)
        } else if urlRequest.httpBodyStream != nil {
            body = .stream(replay: .oneShot) { _ in InputStreamSource(urlRequest) }
        }
        try self.init(method, url: urlRequest.url?.absoluteString ?? "", headers: fields, body: body)
        if let limit = urlRequest.idleLimit {
            options.phaseTimeouts = .use(PhaseTimeouts(connect: limit, firstByte: limit, idleRead: limit, idleWrite: limit))
        }
    }

    private static func invalid(_ message: String) -> TransportError {
        TransportError(.invalidRequest, phase: .request, message: message, delivery: .notSent)
    }
}

extension URLRequest {
    /// The interval that Foundation gives to each `URLRequest`, in seconds.
    private static let defaultTimeoutInterval = 60.0

    /// The timeout that the app has set; `nil` for the default, and for an interval that is not a positive finite number.
    fileprivate var idleLimit: Duration? {
        guard timeoutInterval != Self.defaultTimeoutInterval, timeoutInterval > 0, timeoutInterval.isFinite else { return nil }
        // One nanosecond, the shortest limit, replaces a shorter interval. One hundred years is the longest limit of a phase.
        return max(.seconds(min(timeoutInterval, 3_155_760_000)), .nanoseconds(1))
    }
}
