#if SWIFT_NIO && MockServer
internal import Errand
internal import ErrandTesting
internal import Foundation
internal import TestSupport
internal import Testing

extension TransportTests {
    /// Requests whose heads are the caller's own: what is sent is what was meant, or nothing is.
    @Suite
    struct RequestCheckTests {
        private func request(_ target: String?, to server: RawServer, _ method: HTTPRequest.Method = .get) -> Request {
            Request(
                head: HTTPRequest(
                    method: method, scheme: "http", authority: "127.0.0.1:\(server.port)", path: target,
                    headerFields: [.authorization: "Bearer hunter2"]))
        }

        /// A target that continued the authority would send credentials to another host or port.
        @Test(arguments: [":1/stolen", ".evil.example/x", "users/1", "@evil.example/", "*", "%2F", "\\x"], TestedTransport.allCases)
        func aTargetThatContinuesTheAuthorityIsRefused(target: String, by tested: TestedTransport) async throws {
            let server = try RawServer.responding { connection, _, _ in try connection.respond() }
            defer { server.stop() }
            try await tested.run { transport in
                let error = await #expect(throws: (any Error).self) { try await transport.send(request(target, to: server)) }
                if tested == .nio {
                    #expect((error as? TransportError)?.code == .invalidRequest && (error as? TransportError)?.delivery == .notSent)
                } else {
                    #expect(error is InvalidURLError)
                }
            }
            #expect(server.counts.value.accepted == 0)
        }

        @Test(arguments: ["", "/", "?a=b", "//a/b", "/x?y"], TestedTransport.allCases)
        func aTargetThatStartsThePathIsSent(target: String, by tested: TestedTransport) async throws {
            let seen = Watched<String?>(nil)
            let server = try RawServer.responding { connection, request, _ in
                seen.change { $0 = request.target }
                try connection.respond()
            }
            defer { server.stop() }
            try await tested.run { transport in
                let response = try await transport.send(request(target, to: server))
                #expect(response.status == .ok)
                #expect(seen.value?.hasSuffix(target) == true)
            }
        }

        /// RFC 9112, 3.2.4: for OPTIONS alone.
        @Test(arguments: TestedTransport.allCases) func theAsteriskIsForOPTIONSOnly(by tested: TestedTransport) async throws {
            let seen = Watched<String?>(nil)
            let server = try RawServer.responding { connection, request, _ in
                seen.change { $0 = request.target }
                try connection.respond()
            }
            defer { server.stop() }
            try await tested.run { transport in
                let response = try await transport.send(request("*", to: server, .options))
                #expect(response.status == .ok)
                #expect(seen.value == "*")
            }
        }

        /// RFC 9112, 3.2.
        @Test(arguments: TestedTransport.allCases) func moreThanOneHostIsRefused(by tested: TestedTransport) async throws {
            let server = try RawServer.responding { connection, _, _ in try connection.respond() }
            defer { server.stop() }
            let host = try #require(HTTPField.Name("Host"))
            var request = try Request(.get, url: server.url())
            request.head.headerFields.append(HTTPField(name: host, value: "evil.example"))
            request.head.headerFields.append(HTTPField(name: host, value: "evil2.example"))
            let sent = request
            try await tested.run { transport in
                let failure = try await transportError { try await transport.send(sent) }
                #expect(failure.code == .invalidRequest)
                #expect(failure.delivery == .notSent)
            }
            #expect(server.counts.value.accepted == 0)
        }

        // MARK: Control characters

        /// HTTPTypes replaces CR, LF and NUL by spaces in every value, and all other control characters in a value that is not lenient.
        @Test(
            arguments: [
                "a\r\nX-Injected: 1", "a\rX-Injected: 1", "a\nX-Injected: 1", "a\r\n\r\nGET /stolen HTTP/1.1", "a\u{0}b",
                "a\u{0}\r\n\u{0}b",
            ], TestedTransport.allCases)
        func aLineBreakInAValueBeginsNoOtherField(value: String, by tested: TestedTransport) async throws {
            let name = try #require(HTTPField.Name("X-Own"))
            let fields = [HTTPField(name: name, value: value), HTTPField(name: name, lenientValue: Array(value.utf8))]
            let sent = value.utf8.map { [0x00, 0x0A, 0x0D].contains($0) ? UInt8(ascii: " ") : $0 }
            try await expectArrival(of: fields, as: sent, by: tested)
        }

        @Test(arguments: TestedTransport.allCases) func aDeleteInAValueIsReplacedByASpace(by tested: TestedTransport) async throws {
            let field = HTTPField(name: try #require(HTTPField.Name("X-Own")), value: "a\u{7F}b\u{1B}c")
            try await expectArrival(of: [field], as: Array("a b c".utf8), by: tested)
        }

        @Test(arguments: TestedTransport.allCases) func aTabInAValueIsSent(by tested: TestedTransport) async throws {
            let field = HTTPField(name: try #require(HTTPField.Name("X-Own")), value: "a\tb")
            try await expectArrival(of: [field], as: Array("a\tb".utf8), by: tested)
        }

        /// Sends a request for each field, and expects that the server receives only this field.
        private func expectArrival(of fields: [HTTPField], as value: [UInt8], by tested: TestedTransport) async throws {
            let seen = Watched<[RawRequest]>([])
            let server = try RawServer.responding { connection, request, _ in
                seen.change { $0.append(request) }
                try connection.respond()
            }
            defer { server.stop() }
            try await tested.run { transport in
                for field in fields {
                    let response = try await transport.send(Request(.get, url: server.url(), headers: HTTPFields([field])))
                    #expect(response.status == .ok)
                }
            }
            #expect(seen.value.map { $0.octets("X-Own") } == fields.map { _ in [value] })
            #expect(seen.value.allSatisfy { $0.value("X-Injected") == nil && $0.method == "GET" })
        }

        /// A lenient value may have every control character except CR, LF and NUL.
        @Test(arguments: [0x01, 0x08, 0x0B, 0x0C, 0x1B, 0x1F, 0x7F] as [UInt8], TestedTransport.allCases)
        func aControlCharacterInALenientValueIsRefused(octet: UInt8, by tested: TestedTransport) async throws {
            let server = try RawServer.responding { connection, _, _ in try connection.respond() }
            defer { server.stop() }
            let name = try #require(HTTPField.Name("X-Own"))
            // The values are checked eight octets at a time. The last octets of a value are checked one at a time.
            let values = [[octet], Array("hunter2".utf8) + [octet] + Array("hunter2".utf8), Array("0123456789".utf8) + [octet]]
            try await tested.run { transport in
                for value in values {
                    let fields = HTTPFields([HTTPField(name: .accept, value: "*/*"), HTTPField(name: name, lenientValue: value)])
                    let failure = try await transportError { try await transport.send(Request(.get, url: server.url(), headers: fields)) }
                    #expect(failure.code == .invalidRequest && failure.phase == .request && failure.delivery == .notSent)
                    #expect(failure.message == "the field 'X-Own' of the request contains a control character, such as a line break")
                    #expect(!"\(failure)".contains("hunter2"))
                }
            }
            #expect(server.counts.value.accepted == 0)
        }

        @Test(arguments: ["X-Own\r\nX-Injected", "X-Own\r", "X-Own\n", "X-Own\u{0}", "X-Own\u{7F}", "X-Own: a\r\nX-Injected"])
        func aNameWithAControlCharacterIsRefusedBeforeARequest(name: String) {
            #expect(HTTPField.Name(name) == nil)
            let error = #expect(throws: InvalidFieldError.self) { try HTTPFields(checking: [(key: name, value: "a")]) }
            #expect(error?.code == .invalidName)
        }

        // MARK: Durations

        @Test(arguments: [Duration.seconds(Int64.max), .seconds(9_223_372_036.9)], TestedTransport.allCases)
        func hugeTimeoutsDoNotEndACall(duration: Duration, by tested: TestedTransport) async throws {
            let server = try RawServer.responding { connection, _, _ in try connection.respond() }
            defer { server.stop() }
            try await tested.run {
                ($0.connectTimeout, $0.idleTimeout) = (duration, duration)
            } _: { transport in
                for _ in 0..<2 {
                    let response = try await transport.send(Request(.get, url: server.url()))
                    #expect(response.status == .ok)
                }
                let request = try Request(.get, url: server.url()).within(.seconds(9_223_372_036.9))
                #expect(try await transport.send(request).status == .ok)
            }
        }

        // MARK: Secrets

        struct CannotOpen: Error, CustomStringConvertible {
            var description: String { "cannot open store with password hunter2" }
        }

        /// If an error is not an error of this library, only its type is known to have no secrets.
        @Test(arguments: TestedTransport.allCases) func theErrorOfABodyIsShownOnlyByItsType(by tested: TestedTransport) async throws {
            let server = try RawServer { connection in
                try connection.readHead()
                connection.waitForEnd()
            }
            defer { server.stop() }
            try await tested.run { transport in
                let body = RequestBody.stream(length: nil) { _ in ScriptedBodySource(["first"], then: .failure(CannotOpen())) }
                let failure = try await transportError { try await transport.send(Request(.post, url: server.url(), body: body)) }
                #expect(failure.code == .requestBody)
                #expect(failure.message == "CannotOpen")
                #expect(!"\(failure)".contains("hunter2"))
                #expect(failure.underlying is CannotOpen)
            }
        }

        @Test(arguments: TestedTransport.allCases) func anInvalidValueIsNotShown(by tested: TestedTransport) async throws {
            let field = HTTPField(name: .authorization, lenientValue: Array("Bearer hunter2\u{1}".utf8))
            try await tested.run { transport in
                let failure = try await transportError {
                    try await transport.send(Request(.get, url: "http://127.0.0.1:1/", headers: HTTPFields([field])))
                }
                #expect(failure.code == .invalidRequest)
                #expect(failure.delivery == .notSent)
                #expect(
                    failure.message == "the field 'Authorization' of the request contains a control character, such as a line break")
                #expect(!"\(failure)".contains("hunter2"))
            }
        }
    }
}
#endif
