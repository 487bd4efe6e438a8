internal import ErrandCore
internal import ErrandTesting
internal import Testing

extension TransportBehavior {
    /// Rules about work that a middleware does around the transport.
    static let followed: [TransportBehavior] = [
        TransportBehavior(
            "BasicRedirect", "A redirect is followed, and the response contains the last request (RFC 9110, section 15.4).",
            [Stub(.get, "/start").responds(.redirect(to: "/end?x=1")), Stub(.get, "/end").responds(.status(.ok, text: "there"))]
        ) { subject in
            let response = try await subject.stack(with: .redirect).send(subject.request(.get, "/start"))
            let reason = subject.reason(without: .redirect)
            #expect(response.status == .ok, "the redirect was not followed\(reason)")
            guard response.status == .ok else { return response.body.abandon() }
            #expect(response.request.head.path == "/end?x=1", "the request of a response is the last request of the chain")
            #expect(try await response.body.collect() == Data("there".utf8))
        },
        TransportBehavior(
            "InfiniteRedirect", "A redirect loop ends with a failure.", [Stub(.get, "/loop").responds(.redirect(to: "/loop"))]
        ) { subject in
            do {
                _ = try await subject.stack(with: .redirect).send(subject.request(.get, "/loop"))
                Issue.record("a redirect loop ended with a response\(subject.reason(without: .redirect))")
            } catch is any RequestFailure {
            }
        },
        TransportBehavior(
            "BasicCookieSetAndUse", "A cookie is sent with the next request (RFC 6265, section 5.4).",
            [
                Stub(.get, "/set").responds(.status(.ok, headers: [.setCookie: "seen=yes; Path=/"])),
                Stub(.get, "/use").responds(.custom { (HTTPResponse(status: .ok), Data(($0.headers[.cookie] ?? "").utf8)) }),
            ]
        ) { subject in
            let stack = subject.stack(with: .cookies)
            _ = try await stack.send(subject.request(.get, "/set")).body.collect()
            let cookies = try await stack.send(subject.request(.get, "/use")).body.collect()
            #expect(
                cookies == Data("seen=yes".utf8), "the next request came without the cookie\(subject.reason(without: .cookies))")
        },
        TransportBehavior(
            "ETag", "If the server confirms a validator, the response comes from the cache (RFC 9111, section 4.3)."
        ) {
            let (asked, confirmed) = (Counter(), Counter())
            let fields: HTTPFields = [.eTag: "\"v1\"", .cacheControl: "no-cache"]
            let stubs = [
                Stub(.get).header(.ifNoneMatch, "\"v1\"").responds(
                    .custom { _ in
                        confirmed.add()
                        return (HTTPResponse(status: .notModified, headerFields: [.eTag: "\"v1\""]), Data())
                    }),
                Stub(.get).responds(
                    .custom { _ in
                        asked.add()
                        return (HTTPResponse(status: .ok, headerFields: fields), Data("stored".utf8))
                    }),
            ]
            return Check(stubs) { subject in
                let stack = subject.stack(with: .cache)
                for _ in 0..<2 {
                    let response = try await stack.send(subject.request())
                    #expect(response.status == .ok)
                    #expect(try await response.body.collect() == Data("stored".utf8))
                }
                #expect(
                    confirmed.value == 1 && asked.value == 1,
                    "the second request came without If-None-Match\(subject.reason(without: .cache))")
            }
        },
    ]
}
