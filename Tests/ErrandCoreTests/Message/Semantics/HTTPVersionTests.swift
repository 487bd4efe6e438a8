import Errand
import TestSupport
import Testing

@testable import ErrandCore

@Suite(.timeLimit(.minutes(5))) struct HTTPVersionTests {
    @Test(arguments: [
        (HTTPVersion.http1_0, "HTTP/1.0", "1.0"), (.http1_1, "HTTP/1.1", "1.1"), (.http2, "HTTP/2", "2"), (.http3, "HTTP/3", "3"),
        (HTTPVersion(major: 1, minor: 7), "HTTP/1.7", "1.7"), (HTTPVersion(major: 2, minor: 1), "HTTP/2.1", "2.1"),
    ])
    func aVersionHasTheTextOfTheProtocol(version: HTTPVersion, text: String, number: String) throws {
        #expect(version.rawValue == text && version.description == text && version.number == number)
        #expect(HTTPVersion(rawValue: text) == version)
        let coded = try JSONEncoder().encode([version])
        #expect(try JSONDecoder().decode([String].self, from: coded) == [text])
        #expect(try JSONDecoder().decode([HTTPVersion].self, from: coded) == [version])
    }

    @Test func aMinorVersionOfZeroMayBeLeftOut() {
        #expect(HTTPVersion(rawValue: "HTTP/2.0") == .http2 && HTTPVersion(rawValue: "HTTP/3.0") == .http3)
        #expect(HTTPVersion(rawValue: "HTTP/1") == .http1_0)
    }

    @Test(arguments: [
        "", "unknown", "h2", "http/1.1", "HTTP/", "HTTP/1.", "HTTP/.1", "HTTP/11", "HTTP/1.1.1", "HTTP/1.10", "HTTP/a", "HTTP/1,1", "1.1",
        " HTTP/1.1", "HTTP/1.1 ", "HTTP/²",
    ])
    func otherTextIsAnInvalidVersion(text: String) {
        #expect(HTTPVersion(rawValue: text) == nil)
        #expect(throws: DecodingError.self) { try JSONDecoder().decode([HTTPVersion].self, from: JSONEncoder().encode([text])) }
    }
}
