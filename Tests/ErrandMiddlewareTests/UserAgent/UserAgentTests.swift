import Errand
import ErrandTesting
import Testing

@Suite(.timeLimit(.minutes(5))) struct UserAgentTests {
    private func sent(
        _ stack: (HTTPStack) -> HTTPStack, headers: HTTPFields = HTTPFields(), _ option: OptionOverride<String> = .inherited
    ) async throws -> [String] {
        let stub = StubTransport(Stub().responds(.status(.ok)))
        var request = try Request(.get, url: "https://a.example/", headers: headers)
        request.options.userAgent = option
        _ = try await stack(HTTPStack(stub)).send(request)
        return stub.requests[0].headers[values: .userAgent]
    }

    @Test func theLibraryNamesItself() async throws {
        #expect(try await sent { $0.userAgent(UserAgentMiddleware.standard) } == ["Errand/0.1"])
        #expect(HTTPStack.default.description.contains("userAgent(Errand/0.1)"))
        #expect(!HTTPStack.bare.description.contains("userAgent"))
    }

    @Test func anAppReplacesTheDefault() async throws {
        #expect(try await sent { $0.userAgent("Shop/2.1") } == ["Shop/2.1"])
        #expect(HTTPStack.default.userAgent("Shop/2.1").layers.map(\.label).filter { $0.contains("userAgent") } == ["userAgent(Shop/2.1)"])
        #expect(HTTPStack.default.userAgent(nil).layers.map(\.label).filter { $0.contains("userAgent") } == ["userAgent(off)"])
        #expect(try await sent { $0.userAgent(nil) } == [])
    }

    @Test func aFieldOfTheRequestOrOfAServerIsKept() async throws {
        #expect(try await sent({ $0.userAgent("Shop/2.1") }, headers: [.userAgent: "Own/1"]) == ["Own/1"])
        #expect(try await sent { $0.userAgent("Shop/2.1").server(headers: [.userAgent: "Server/1"]) } == ["Server/1"])
    }

    @Test func aRequestReplacesOrDropsTheField() async throws {
        #expect(try await sent({ $0.userAgent("Shop/2.1") }, .use("Shop/2.1 (nightly)")) == ["Shop/2.1 (nightly)"])
        #expect(try await sent({ $0.userAgent(nil) }, .use("Shop/2.1")) == ["Shop/2.1"])
        #expect(try await sent({ $0.userAgent("Shop/2.1") }, .off) == [])
    }

    /// A value may come from data. A changed value must not be sent.
    @Test(arguments: ["a\r\nX-Evil: 1", "a\n", "\u{0}", " a"]) func anInvalidValueFailsTheRequest(_ value: String) async throws {
        await #expect(throws: InvalidFieldError.self) { try await sent { $0.userAgent(value) } }
        await #expect(throws: InvalidFieldError.self) { try await sent({ $0.userAgent("Shop/2.1") }, .use(value)) }
        #expect(!HTTPStack.bare.userAgent(value).description.contains("\n"))
    }

    @Test func aRedirectKeepsTheField() async throws {
        let stub = StubTransport(
            Stub(.get, "/a").responds(.redirect(to: "https://b.example/b")), Stub(.get, "/b").responds(.status(.ok)))
        _ = try await stub.redirect().userAgent("Shop/2.1").send(try Request(.get, url: "https://a.example/a"))
        #expect(stub.requests.map { $0.headers[.userAgent] } == ["Shop/2.1", "Shop/2.1"])
    }
}
