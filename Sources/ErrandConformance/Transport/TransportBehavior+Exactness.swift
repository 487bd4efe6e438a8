internal import ErrandCore
internal import ErrandTesting
internal import Testing

extension TransportBehavior {
    /// Rules about sending: a request is sent once. If the request may have been sent, its failure must not report `notSent`.
    static let sentOnce: [TransportBehavior] = [
        TransportBehavior("PostIsSentOnce", "Each request reaches the server once, even a POST or a request that the server rejects.") {
            let arrivals = Counter()
            let counting = StubResponse.custom { request in
                arrivals.add()
                return (HTTPResponse(status: .created), request.body)
            }
            let refused = Counter()
            let refusing = StubResponse.custom { _ in
                refused.add()
                return (HTTPResponse(status: .serviceUnavailable), Data())
            }
            return Check([Stub(.get, "/busy").responds(refusing), Stub().responds(counting)]) { subject in
                for method in [HTTPRequest.Method.get, .put, .delete] {
                    let before = arrivals.value
                    #expect(try await subject.exchange(method).response.status == .created)
                    #expect(arrivals.value == before + 1, "\(method)")
                }
                #expect(try await subject.exchange(.get, "/busy").response.status == .serviceUnavailable)
                #expect(refused.value == 1, "a refused GET")
                let before = arrivals.value
                let bodies = [RequestBody.text("tea"), stream(of: Data("tea".utf8), pieceBytes: 1)]
                for (index, body) in bodies.enumerated() {
                    let (response, echoed) = try await subject.exchange(.post, body: body)
                    #expect(response.status == .created && echoed == Data("tea".utf8))
                    #expect(arrivals.value == before + index + 1)
                }
            }
        },
        TransportBehavior(
            "LostPostIsNotRepeated", "A POST whose connection is lost is not sent again, even over a reused connection (RFC 9110, 9.2.2)."
        ) {
            let arrivals = Counter()
            return Check([Stub(.post).responds(lost(counting: arrivals)), Stub().responds(.status(.ok))]) { subject in
                for (index, body) in [RequestBody.text("tea"), stream(of: Data("tea".utf8), pieceBytes: 1)].enumerated() {
                    #expect(try await subject.exchange().response.status == .ok)
                    let failure = try await subject.failure(.post, body: body)
                    #expect(failure?.delivery != .notSent, "the server received the request")
                    #expect(arrivals.value == index + 1)
                }
            }
        },
        TransportBehavior(
            "LostBeforeHead", "If the connection is lost before the response's head, the request fails, and may have been sent.",
            [Stub(.get, "/lost").responds(lost(counting: Counter())), Stub().responds(.status(.ok))]
        ) { subject in
            let failure = try await subject.failure(.get, "/lost")
            #expect(failure?.delivery != .notSent && failure?.response == nil)
            #expect(try await subject.exchange().response.status == .ok)
        },
    ]

    /// Counts the request, then loses the connection instead of responding.
    private static func lost(counting arrivals: Counter) -> StubResponse {
        .custom { _ in
            arrivals.add()
            throw TransportError(.connectionLost, phase: .response, request: nil, delivery: .unknown)
        }
    }

    /// Rules about contents: requests and responses pass unchanged.
    static let asTheyAre: [TransportBehavior] = [
        TransportBehavior(
            "MethodsAsTheyAre", "The server receives each method unchanged, with the body of the request (RFC 9110, section 9.1).",
            [
                Stub().responds(
                    .custom { request in
                        (HTTPResponse(status: .ok, headerFields: [field("X-Method"): request.method.rawValue]), request.body)
                    })
            ]
        ) { subject in
            for name in ["GET", "HEAD", "OPTIONS", "DELETE", "POST", "PUT", "PATCH", "QUERY", "PROPFIND"] {
                let method = try #require(HTTPRequest.Method(name))
                let hasBody = ["POST", "PUT", "PATCH", "QUERY", "PROPFIND"].contains(name)
                let (response, body) = try await subject.exchange(method, body: hasBody ? .text("by \(name)") : .empty)
                #expect(response.headers[field("X-Method")] == name)
                #expect(body == Data((hasBody ? "by \(name)" : "").utf8), "\(name)")
            }
        },
        TransportBehavior(
            "OwnFieldsStay", "Fields that the caller sets are not replaced: User-Agent, Accept, Accept-Language.",
            [
                Stub().responds(
                    .custom { request in
                        let names: [HTTPField.Name] = [.userAgent, .accept, .acceptLanguage]
                        let values = names.map { request.headers[values: $0].joined(separator: ", ") }
                        return (HTTPResponse(status: .ok), Data(values.joined(separator: "\n").utf8))
                    })
            ]
        ) { subject in
            let (_, body) = try await subject.exchange(
                headers: [.userAgent: "Own/1.0", .accept: "application/x-own", .acceptLanguage: "tlh"])
            #expect(String(decoding: body, as: UTF8.self) == "Own/1.0\napplication/x-own\ntlh")
        },
        TransportBehavior("RedirectIsAResponse", "The transport itself follows no redirect (RFC 9110, 15.4).") {
            let arrivals = Counter()
            let end = StubResponse.custom { _ in
                arrivals.add()
                return (HTTPResponse(status: .ok), Data())
            }
            let codes = [301, 302, 303, 307, 308]
            let starts = codes.map { Stub(.get, "/start/\($0)").responds(.redirect(to: "/end", status: .init(code: $0))) }
            return Check(starts + [Stub(nil, "/end").responds(end)]) { subject in
                for code in codes {
                    let (response, _) = try await subject.exchange(.get, "/start/\(code)")
                    #expect(response.status.code == code && response.headers[.location] == "/end")
                    #expect(response.request.head.path == "/start/\(code)")
                }
                #expect(arrivals.value == 0)
            }
        },
        TransportBehavior(
            "CredentialsStayApart", "Credentials of one request do not appear in any earlier, later or concurrent request.",
            [
                Stub().responds(
                    .custom { request in
                        let fields = request.headers.map { "\($0.name.canonicalName): \($0.value)\n" }.joined()
                        return (HTTPResponse(status: .ok), Data(fields.utf8))
                    })
            ]
        ) { subject in
            func fields(of headers: HTTPFields) async throws -> String {
                String(decoding: try await subject.exchange(headers: headers).body, as: UTF8.self)
            }
            let first = try await fields(of: [.authorization: "Bearer s3cr3t", .cookie: "id=s3cr3t", field("X-Api-Key"): "s3cr3t"])
            #expect(first.ranges(of: "s3cr3t").count == 3)
            for _ in 0..<2 {
                let next = try await fields(of: HTTPFields())
                #expect(!next.contains("s3cr3t") && !next.contains("authorization") && !next.contains("cookie"))
            }
            let wrong = try await withThrowingTaskGroup(of: Bool.self) { group in
                for number in 0..<20 {
                    group.addTask {
                        let isSecret = number.isMultiple(of: 2)
                        let headers: HTTPFields = isSecret ? [.authorization: "Bearer number-\(number)-"] : HTTPFields()
                        let (_, body) = try await subject.exchange(headers: headers)
                        let text = String(decoding: body, as: UTF8.self)
                        return isSecret ? text.contains("number-\(number)-") : !text.contains("authorization")
                    }
                }
                return try await group.reduce(0) { $0 + ($1 ? 0 : 1) }
            }
            #expect(wrong == 0, "\(wrong) of 20 concurrent requests arrived with the credentials of another request")
        },
        TransportBehavior(
            "ExpectedLength", "The expected length of a body is its declared length, or nil if no length is declared (RFC 9110, 8.6).",
            [
                Stub(.get, "/whole").responds(.status(.ok, text: "twelve bytes")),
                Stub(.get, "/declared").responds(.stream([Data("twelve ".utf8), Data("bytes".utf8)], headers: [.contentLength: "12"])),
                Stub(.get, "/unknown").responds(.stream([Data("twelve ".utf8), Data("bytes".utf8)])),
            ]
        ) { subject in
            for (path, length) in [("/whole", Int64(12)), ("/declared", 12), ("/unknown", nil)] as [(String, Int64?)] {
                let (response, body) = try await subject.exchange(.get, path)
                #expect(response.body.expectedLength == length, "\(path)")
                #expect(body == Data("twelve bytes".utf8))
            }
        },
    ]
}
