internal import ErrandCore
internal import ErrandTesting
internal import Testing

extension TransportBehavior {
    /// Rules about messages and the ends of messages ([RFC 9112](https://www.rfc-editor.org/rfc/rfc9112)).
    static let messages: [TransportBehavior] = [
        TransportBehavior("Ok", "Status and body are returned.", [Stub(.get, "/").responds(.status(.ok, text: "fine"))]) { subject in
            let (response, body) = try await subject.exchange()
            #expect(response.status == .ok && body == Data("fine".utf8))
            #expect(try await response.end().isComplete)
        },
        TransportBehavior("NotFound", "An error status is a response, not an error.", [Stub().responds(.status(.notFound, text: "no"))]) {
            let (response, body) = try await $0.exchange()
            #expect(response.status == .notFound && body == Data("no".utf8))
        },
        TransportBehavior(
            "StatusOutOfRangeButValid", "A status of three digits outside 1xx to 5xx is returned (RFC 9110, section 15).",
            [Stub().responds(.status(.init(code: 999, reasonPhrase: "Beyond"), text: "x"))]
        ) { subject in
            let (response, body) = try await subject.exchange()
            #expect(response.status.code == 999 && body == Data("x".utf8))
        },
        TransportBehavior(
            "NoReason", "A status line needs no reason phrase (RFC 9112, 4).",
            [Stub().responds(.raw("HTTP/1.1 200 \r\nContent-Length: 2\r\n\r\nok"))]
        ) { subject in
            let (response, body) = try await subject.exchange()
            #expect(response.status.code == 200 && body == Data("ok".utf8))
        },
        TransportBehavior(
            "NotHTTP", "A response that is not HTTP is a failure.", [Stub().responds(.raw("220 mail.example at your service\r\n\r\n"))]
        ) { subject in
            let failure = try await subject.failure()
            #expect(failure?.code == .invalidResponse || failure?.code == .connectionLost)
        },
        TransportBehavior(
            "BadHTTPCase", "A protocol name that is not in capitals is rejected (RFC 9112, 2.3).",
            [Stub().responds(.raw("hTtP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n"))]
        ) { subject in
            expectItCame(try await subject.failure())
        },
        TransportBehavior(
            "ConflictingContentLength", "Two different lengths are rejected (RFC 9112, section 6.3).",
            [Stub().responds(.raw("HTTP/1.1 200 OK\r\nContent-Length: 2\r\nContent-Length: 3\r\n\r\nabc"))]
        ) { subject in
            expectItCame(try await subject.failure())
        },
        TransportBehavior(
            "204WithContentLength", "A 204 has no body, even if it declares a length (RFC 9112, 6.3).",
            [Stub().responds(.raw("HTTP/1.1 204 No Content\r\nContent-Length: 5\r\n\r\n"))]
        ) { subject in
            let (response, body) = try await subject.exchange()
            #expect(response.status == .noContent && body.isEmpty)
            #expect(try await response.end().isComplete)
        },
        TransportBehavior(
            "304WithContentLength", "A 304 has no body; its length is the length of the stored response (RFC 9110, section 8.6).",
            [Stub().responds(.raw("HTTP/1.1 304 Not Modified\r\nETag: \"a\"\r\nContent-Length: 5\r\n\r\n"))]
        ) { subject in
            let (response, body) = try await subject.exchange(headers: [.ifNoneMatch: "\"a\""])
            #expect(response.status == .notModified && body.isEmpty)
            #expect(try await response.end().isComplete)
        },
        TransportBehavior(
            "HeadWithContentLength", "A response to HEAD has no body, even if it has a Content-Length (RFC 9110, section 9.3.2).",
            [Stub(.head).responds(.status(.ok, headers: [.contentLength: "1000"]))]
        ) { subject in
            let (response, body) = try await subject.exchange(.head)
            #expect(response.status == .ok && body.isEmpty && response.headers[.contentLength] == "1000")
            #expect(try await response.end().isComplete)
        },
        TransportBehavior(
            "IncompleteBody", "A body that is shorter than declared is never reported as complete (RFC 9112, section 8).",
            [Stub().responds(.raw("HTTP/1.1 200 OK\r\nContent-Length: 1000\r\n\r\nonly this"))]
        ) { subject in
            let failure = try await subject.failure()
            #expect(failure?.delivery == .sent)
            expectItCame(failure)
        },
        TransportBehavior(
            "NoLengthHint", "Without a length, the body ends with the connection (RFC 9112, 6.3).",
            [Stub().responds(.raw("HTTP/1.1 200 OK\r\n\r\nto the very end"))]
        ) { subject in
            let (response, body) = try await subject.exchange()
            #expect(body == Data("to the very end".utf8) && response.body.expectedLength == nil)
        },
    ]

    /// Records an issue if the server could not send its bytes, because the server has no socket. This failure is not a fault of the
    /// transport.
    private static func expectItCame(_ failure: TransportError?) {
        #expect(failure?.code != .unsupported, "the server can't send these bytes without a socket: see `TransportBehavior.needsWire`")
    }

    /// Rules about header fields and targets, which must arrive unchanged.
    static let fields: [TransportBehavior] = [
        TransportBehavior(
            "CustomHeader", "A custom field is sent and received.",
            [
                Stub().responds(
                    .custom { request in
                        (
                            HTTPResponse(status: .ok, headerFields: [field("X-Reply"): request.headers[field("X-Question")] ?? "none"]),
                            Data()
                        )
                    })
            ]
        ) { subject in
            let (response, _) = try await subject.exchange(headers: [field("X-Question"): "what? \"this\", (that); a=b"])
            #expect(response.headers[field("X-Reply")] == "what? \"this\", (that); a=b")
        },
        TransportBehavior(
            "ClientSendsEmptyHeaderValue", "A field with an empty value is sent (RFC 9110, 5.5).", [Stub().responds(listing("X-Empty"))]
        ) { subject in
            let (_, body) = try await subject.exchange(headers: [field("X-Empty"): ""])
            #expect(body == Data("[]".utf8))
        },
        TransportBehavior(
            "ClientSendsMultiValueHeader", "Several fields of one name keep their order (RFC 9110, 5.3).",
            [Stub().responds(listing("X-Many"))]
        ) { subject in
            var headers = HTTPFields()
            for value in ["one", "two, three", "four"] { headers.append(HTTPField(name: field("X-Many"), value: value)) }
            let (_, body) = try await subject.exchange(headers: headers)
            // Recipients may join the values with commas.
            let text = String(decoding: body, as: UTF8.self).replacing("][", with: ", ")
            #expect(text == "[one, two, three, four]")
        },
        TransportBehavior(
            "ServerSendsMultiValueHeader", "Several fields of one name are returned in their order.",
            [Stub().responds(.status(.ok, headers: many))]
        ) { subject in
            let (response, _) = try await subject.exchange()
            #expect(response.headers[values: .setCookie] == ["a=1", "b=2; Path=/"])
            #expect(response.headers[values: field("X-Many")].joined(separator: ", ") == "one, two, three")
        },
        TransportBehavior(
            "URLParams", "Path and query are sent octet for octet.",
            [Stub().responds(.custom { (HTTPResponse(status: .ok), Data(($0.request.head.path ?? "").utf8)) })]
        ) { subject in
            for target in ["/?a=1&a=2&b", "/a%2Fb/c?q=a%2Bb&r=%20&s=+", "/?", "/x?q=%C3%A9&u=http://a.example/?x", "/a;b=c/d:e@f"] {
                let (_, body) = try await subject.exchange(.get, target)
                #expect(String(decoding: body, as: UTF8.self) == target)
            }
        },
        TransportBehavior(
            "GetConvenience", "The body of a GET's response can be read in the closure of `withResponse`.",
            [Stub(.get, "/items/7").responds(.status(.ok, text: "tea"))]
        ) { subject in
            let text = try await subject.stack.withResponse(to: subject.request(.get, "/items/7")) { response in
                String(decoding: try await response.body.collect(upTo: 100), as: UTF8.self)
            }
            #expect(text == "tea")
        },
        TransportBehavior(
            "PostConvenience", "A POST can be sent with `withResponse`.", [Stub(.post, "/items").body("tea").responds(.status(.created))]
        ) { subject in
            let status = try await subject.stack.withResponse(to: subject.request(.post, "/items", body: .text("tea"))) { $0.status }
            #expect(status == .created)
        },
    ]

    static func field(_ name: String) -> HTTPField.Name {
        guard let name = HTTPField.Name(name) else { preconditionFailure("name must be the name of a field (is '\(name)')") }
        return name
    }

    private static let many: HTTPFields = {
        var fields = HTTPFields()
        for value in ["a=1", "b=2; Path=/"] { fields.append(HTTPField(name: .setCookie, value: value)) }
        for value in ["one", "two, three"] { fields.append(HTTPField(name: field("X-Many"), value: value)) }
        return fields
    }()

    /// Returns a response whose body lists the values of a request's header fields with this name, each in brackets.
    private static func listing(_ name: String) -> StubResponse {
        .custom { request in
            let values = request.headers[values: field(name)]
            return (HTTPResponse(status: .ok), Data(values.map { "[\($0)]" }.joined().utf8))
        }
    }
}
