#if Telemetry
import Errand
import Foundation
import Testing

@testable import ErrandTelemetry

/// The names of OpenTelemetry. No server and no caller can create many of them.
@Suite(.timeLimit(.minutes(5))) struct ConventionsTests {
    private struct Own: Error {}

    private func failure(_ code: TransportError.Code) -> TransportError {
        TransportError(code, phase: .response, request: nil, delivery: .unknown)
    }

    @Test func anUnknownMethodHasOneName() throws {
        #expect(Conventions.knownMethods.count == 9 && Conventions.knownMethods.contains(.patch))
        #expect(Conventions.method(.get, isKnown: true) == "GET" && Conventions.method(.get, isKnown: false) == "_OTHER")
    }

    @Test func aSpanHasTheTemplateAndNeverThePath() throws {
        var request = try Request(.get, url: "https://a.example/users/7?token=s3cret")
        #expect(Conventions.spanName(of: request, isKnownMethod: true) == "GET")
        request.options.urlTemplate = ""
        #expect(Conventions.spanName(of: request, isKnownMethod: false) == "HTTP")
        request.options.urlTemplate = "/users/{id}"
        #expect(Conventions.spanName(of: request, isKnownMethod: true) == "GET /users/{id}")
        #expect(Conventions.spanName(of: request, isKnownMethod: false) == "HTTP /users/{id}")
    }

    @Test func theTypeOfAFailureIsItsCode() async throws {
        #expect(Conventions.errorType(of: failure(.timedOut)) == "timeout")
        #expect(Conventions.errorType(of: failure(.connectionLost)) == "connection_lost")
        let response = Response(head: HTTPResponse(status: .serviceUnavailable), data: Data(), request: try Request(.get, "/"))
        #expect(Conventions.errorType(of: try await StatusError(reading: response)) == "503")
        #expect(Conventions.errorType(of: Own()) == "Own")
    }

    @Test(arguments: [
        ("https://A.example/x", "a.example", 443), ("http://a.example:8080/x", "a.example", 8080),
        ("https://[2001:db8::1]/", "2001:db8::1", 443),
    ])
    func aServerHasItsHostWithoutBrackets(url: String, address: String, port: Int) throws {
        let server = try #require(Conventions.server(of: Request(.get, url: url)))
        #expect(Conventions.address(of: server) == address && server.effectivePort == port)
    }

    @Test func credentialsInAnAuthorityAreIgnored() throws {
        func server(_ authority: String?) -> Origin? {
            Conventions.server(of: Request(head: HTTPRequest(method: .get, scheme: "https", authority: authority, path: "/")))
        }
        #expect(server("ada:s3cret@a.example")?.description == "https://a.example")
        #expect(server("a@b@a.example")?.description == "https://a.example")
        #expect(server(nil) == nil && server("ada@") == nil && server("") == nil)
    }

    @Test func tagsHaveAPrefix() throws {
        var request = try Request(.get, url: "https://a.example/")
        request.options.tags = ["kind": "report"]
        let tags = Conventions.tags(of: request)
        #expect(tags.map(\.name) == ["errand.tag.kind"] && tags.map(\.value) == ["report"])
    }
}
#endif
