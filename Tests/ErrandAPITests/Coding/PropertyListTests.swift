import Errand
import ErrandTesting
import Foundation
import Testing

/// Property lists as bodies of requests and responses.
@Suite(.timeLimit(.minutes(5))) struct PropertyListTests {
    struct Profile: Codable, Sendable, Equatable {
        var name: String
        var limits: [Int]
        var since: Date?
    }

    private let profile = Profile(name: "Ada & <co>", limits: [1, -2], since: Date(timeIntervalSince1970: 1_700_000_000))

    @Test(arguments: [EndpointBody.PropertyListFormat.xml, .binary])
    func aPropertyListIsSentAndRead(_ format: EndpointBody.PropertyListFormat) async throws {
        let stub = StubTransport(
            Stub(.put, "/profile").responds(.custom { (HTTPResponse(status: .ok), $0.body) }))
        let client = APIClient(stub.server("https://a.example"))
        let echo = Endpoint<Profile>(.put, "/profile", body: .propertyList(profile, format: format), decoding: .propertyList)
        #expect(try await client.value(echo) == profile)
        let sent = stub.requests[0]
        #expect(sent.headers[.contentType] == "application/x-plist" && sent.headers[.accept] == "application/x-plist")
        #expect(sent.body.starts(with: Data((format == .xml ? "<?xml" : "bplist00").utf8)))
    }

    @Test func anEmptyBodyIsNilOrAnError() async throws {
        let client = APIClient(StubTransport(Stub().responds(.status(.noContent))).server("https://a.example"))
        #expect(try await client.value(Endpoint<Profile?>(.get, "/", decoding: .propertyList)) == nil)
        await #expect(throws: ResponseDecodingError.self) { try await client.value(Endpoint<Profile>(.get, "/", decoding: .propertyList)) }
    }

    @Test func aListAtTheLimitIsRead() async throws {
        let depth = 126
        let text =
            "<?xml version=\"1.0\"?><!-- > < --><plist version=\"1.0\">" + String(repeating: "<array>", count: depth)
            + "<array/>" + String(repeating: "</array>", count: depth) + "</plist>"
        let client = APIClient(StubTransport(Stub().responds(.data(Data(text.utf8)))).server("https://a.example"))
        indirect enum Nested: Decodable, Sendable {
            case list([Nested])
            init(from decoder: any Decoder) throws { self = .list(try [Nested](from: decoder)) }
            var depth: Int { if case .list(let inner) = self { 1 + (inner.first?.depth ?? 0) } else { 0 } }
        }
        #expect(try await client.value(Endpoint<Nested>(.get, "/", decoding: .propertyList)).depth == depth + 1)
    }

    @Test(arguments: [
        "", "x", "bplist00", "bplist00\u{0}\u{0}", "<plist>", "<plist><dict><key>", "{", "{ a = (", "<?xml?><plist><integer>x",
    ])
    func anInvalidPropertyListIsAnError(_ text: String) async throws {
        let client = APIClient(StubTransport(Stub().responds(.data(Data(text.utf8)))).server("https://a.example"))
        await #expect(throws: ResponseDecodingError.self) { try await client.value(Endpoint<Profile>(.get, "/", decoding: .propertyList)) }
    }
}
