import Errand
import ErrandRedaction
import ErrandTesting
import Logging
import TestSupport
import Testing

@testable import ErrandTelemetry

/// What is logged costs work, and makes text, in proportion to the body.
@Suite(.timeLimit(.minutes(5))) struct LogBoundsTests {
    /// A boundary that occurs at each byte (RFC 2046, 5.1.1, allows 70 octets).
    @Test(arguments: [70, 16_000]) func aMultipartBodyOfBoundariesIsLogged(_ length: Int) async throws {
        let (logger, lines) = recordingLogger()
        let type = "multipart/form-data; boundary=" + String(repeating: "-", count: length)
        let body = Data(repeating: UInt8(ascii: "-"), count: 64_000)
        let stub = StubTransport(Stub().responds(.data(body, headers: [.contentType: type])))
        let response = try await stub.log(to: logger, detail: .body(limitBytes: body.count)).send(try request())
        #expect(try await response.body.collect() == body)
        #expect(lines.everything.contains("of 64000 bytes"))
    }

    /// Runs of marks, which Swift compares in quadratic time.
    @Test(arguments: ["text/plain", "application/json", "text/xml", "text/plain; charset=a\u{300}"], ["a", "\ta", "\"a", "<a"])
    func marksAreShownByWorkInProportionToTheirBytes(_ type: String, _ front: String) {
        let growth = growth(of: 1_500, making: { Data((front + String(repeating: "\u{300}\u{316}", count: $0)).utf8) }) { data in
            _ = BodyText(data, isWhole: true, contentType: type, sensitivity: .standard, isPretty: true)
        }
        #expect(growth < 30, "quadratic work grows 64 times")
    }

    @Test func aLaidOutBodyIsABoundedMessage() async throws {
        let (logger, lines) = recordingLogger()
        let body =
            String(repeating: "[", count: 40) + Array(repeating: "1", count: 8_000).joined(separator: ",")
            + String(repeating: "]", count: 40)
        let stub = StubTransport(Stub().responds(.status(.ok, headers: [.contentType: "application/json"], text: body)))
        let response = try await stub.log(to: logger, detail: .body(limitBytes: 1 << 20), style: .pretty).send(try request())
        _ = try await response.body.collect()
        let longest = try #require(lines.all.map(\.text.utf8.count).max())
        #expect(longest >= body.utf8.count && longest < 9 * body.utf8.count + 8192)
    }

    @Test func deeplyNestedMultipartBodiesAreHidden() throws {
        func nested(_ depth: Int) -> String {
            (0..<depth).reversed().reduce(#"{"plain":1,"token":"hunter2"}"#) { inner, level in
                "--b\(level)\r\nContent-Type: \(level == depth - 1 ? "application/json" : "multipart/mixed; boundary=b\(level + 1)")\r\n\r\n\(inner)\r\n--b\(level)--"
            }
        }
        for (depth, isShown) in [(1, true), (8, true), (9, false), (300, false)] {
            let request = try Request(
                .post, url: "https://a.example/", headers: [.contentType: "multipart/mixed; boundary=b0"], body: .text(nested(depth)))
            let command = try request.curl()
            #expect(command.contains(#"{"plain":1,"token":"REDACTED"}"#) == isShown && !command.contains("hunter2"), "\(depth): \(command)")
        }
    }

    /// Each level doubles the escapes, unless they are written so.
    @Test func deeplyNestedJSONIsHidden() throws {
        var text = #"{"plain":1,"pwd":"hunter2"}"#
        for depth in 1...12 {
            let quote = "\\u0022"
            text = "[\"" + text.replacing("\\", with: "\\u005c").replacing("\"", with: quote) + "\"]"
            let request = try Request(.post, url: "https://a.example/", headers: [.contentType: "application/json"], body: .text(text))
            let command = try request.curl()
            #expect(!command.contains("hunter2"), "\(depth): \(command)")
            #expect(command.contains("plain") == (depth <= JSONRedaction.nestedTextLimit), "\(depth): \(command)")
        }
    }
}
