#if SWIFT_NIO && MockServer
internal import Errand
internal import Foundation
internal import TestSupport
internal import Testing

extension TransportTests {
    /// Fields cross the wire as they are.
    @Suite
    struct FieldTests {
        private func exchange(by tested: TestedTransport, _ request: (String) throws -> Request, fields: String) async throws -> (
            RawRequest, Response
        ) {
            let seen = Watched<RawRequest?>(nil)
            let server = try RawServer.responding { connection, request, _ in
                seen.change { $0 = request }
                try connection.write("HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\(fields)\r\n")
            }
            defer { server.stop() }
            return try await tested.run { transport in
                let response = try await transport.send(request(server.url("/path?a=b")))
                return (try #require(seen.value), response)
            }
        }

        private func name(_ text: String) throws -> HTTPField.Name { try #require(HTTPField.Name(text)) }

        @Test(arguments: TestedTransport.allCases) func sentFieldsArriveInOrderWithRepetitions(by tested: TestedTransport)
            async throws
        {
            let (twice, empty, text) = (try name("X-Twice"), try name("X-Empty"), try name("X-Text"))
            let (seen, _) = try await exchange(
                by: tested,
                { url in
                    var fields = HTTPFields()
                    fields.append(HTTPField(name: twice, value: "one, with a comma"))
                    fields.append(HTTPField(name: empty, value: ""))
                    fields.append(HTTPField(name: twice, value: "two"))
                    fields.append(HTTPField(name: text, value: "Grüße 日本"))
                    fields.append(HTTPField(name: .userAgent, value: "Errand tests/1.0"))
                    return try Request(.get, url: url, headers: fields)
                }, fields: "")
            #expect(seen.method == "GET")
            #expect(seen.target == "/path?a=b")
            #expect(seen.values("x-twice") == ["one, with a comma", "two"])
            #expect(seen.octets("x-empty") == [[]])
            #expect(seen.octets("x-text") == [Array("Grüße 日本".utf8)])
            #expect(seen.values("user-agent") == ["Errand tests/1.0"])
            #expect(seen.values("host").count == 1)
            #expect(seen.value("host")?.hasPrefix("127.0.0.1:") == true)
            let order = seen.fields.map { $0.name.lowercased() }.filter { $0.hasPrefix("x-") }
            #expect(order == ["x-twice", "x-empty", "x-twice", "x-text"])
        }

        /// Credentials for a proxy never reach an origin ([RFC 9110, section
        /// 11.7.2](https://www.rfc-editor.org/rfc/rfc9110#section-11.7.2)).
        @Test(arguments: TestedTransport.allCases) func credentialsForAProxyDoNotReachAnOrigin(by tested: TestedTransport) async throws {
            let (seen, _) = try await exchange(
                by: tested,
                { url in
                    try Request(.get, url: url, headers: [.proxyAuthorization: "Basic c2VjcmV0", .authorization: "Basic b3JpZ2lu"])
                }, fields: "")
            #expect(seen.values("proxy-authorization") == [])
            #expect(seen.values("authorization") == ["Basic b3JpZ2lu"])
        }

        /// `HTTPFields` splits it, for HTTP/2.
        @Test(arguments: TestedTransport.allCases) func aCookieSetAsOneValueIsOneField(by tested: TestedTransport) async throws {
            let (seen, _) = try await exchange(
                by: tested,
                { url in
                    var request = try Request(.get, url: url)
                    request.headers[.cookie] = "a=1; b=2"
                    #expect(request.headers.count == 2)
                    return request
                }, fields: "")
            #expect(seen.values("cookie") == ["a=1; b=2"])
        }

        /// Nothing is added that was not asked for, but what the message needs.
        @Test(arguments: TestedTransport.allCases) func aBareRequestHasOnlyAHost(by tested: TestedTransport) async throws {
            let (seen, _) = try await exchange(by: tested, { try Request(.get, url: $0) }, fields: "")
            #expect(seen.fields.map { $0.name.lowercased() } == ["host"])
        }

        @Test(arguments: TestedTransport.allCases) func aHostOfTheCallerIsSent(by tested: TestedTransport) async throws {
            let host = try name("Host")
            let (seen, _) = try await exchange(by: tested, { try Request(.get, url: $0, headers: [host: "virtual.example"]) }, fields: "")
            #expect(seen.values("host") == ["virtual.example"])
        }

        @Test(arguments: TestedTransport.allCases) func receivedFieldsAreReadInOrderWithRepetitions(by tested: TestedTransport)
            async throws
        {
            let fields =
                "X-Twice: one, with a comma\r\nX-Empty:\r\nx-twice:   two  \r\nX-Text: Grüße 日本\r\nSet-Cookie: a=b\r\nSet-Cookie: c=d\r\n"
            let (_, response) = try await exchange(by: tested, { try Request(.get, url: $0) }, fields: fields)
            #expect(response.headers[values: try name("X-Twice")] == ["one, with a comma", "two"])
            #expect(response.headers[values: try name("X-Empty")] == [""])
            #expect(response.headers[try name("X-Text")] == "Grüße 日本")
            #expect(response.headers[values: .setCookie] == ["a=b", "c=d"])
        }

        /// Octets that are no UTF-8 do not break the response; SwiftNIO reads them as U+FFFD.
        @Test(arguments: TestedTransport.allCases) func invalidUTF8InAFieldDoesNotBreakAResponse(by tested: TestedTransport) async throws {
            let server = try RawServer.responding { connection, _, _ in
                try connection.write(Array("HTTP/1.1 200 OK\r\nContent-Length: 0\r\nX-Text: caf".utf8) + [0xE9] + Array("\r\n\r\n".utf8))
            }
            defer { server.stop() }
            try await tested.run { transport in
                let response = try await transport.send(Request(.get, url: server.url()))
                let value = try #require(response.headers[try name("X-Text")])
                #expect(value.hasPrefix("caf") && value.count == 4, "\(value)")
            }
        }

        @Test(.enabled(if: NginxServer.isHere, Comment(rawValue: NginxServer.missing)), arguments: TestedTransport.allCases)
        func fieldsOfHTTP2AreReadAlike(by tested: TestedTransport) async throws {
            let nginx = try await NginxServer.shared()
            try await tested.run {
                $0.tls.extraRootsPEMFiles = [nginx.certificates.authority]
            } _: { transport in
                for listener in [NginxServer.Listener.plain, .tls] {
                    let response = try await transport.send(Request(.get, url: nginx.url("/fields", listener)))
                    #expect(response.headers[values: try name("X-Twice")] == ["one", "two"])
                    #expect(response.headers[try name("X-Text")] == "Grüße")
                }
            }
        }

        /// Nothing in a field may end its line (RFC 9110, 5.5).
        @Test(arguments: TestedTransport.allCases) func aFieldCannotSmuggleAnotherField(by tested: TestedTransport) async throws {
            let field = try name("X-Text")
            let (seen, _) = try await exchange(
                by: tested,
                { url in
                    try Request(.get, url: url, headers: [field: "a\r\nX-Smuggled: b\r\n\r\nGET /other HTTP/1.1"])
                }, fields: "")
            #expect(seen.values("x-smuggled").isEmpty)
            #expect(seen.values("x-text").count == 1)
        }
    }
}
#endif
