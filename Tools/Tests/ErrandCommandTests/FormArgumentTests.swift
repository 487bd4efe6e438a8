import ArgumentParser
import Errand
import Foundation
import Testing

@testable import ErrandCommand

/// The forms of `-F`, beside those of curl.
@Suite(.timeLimit(.minutes(5))) struct FormArgumentTests {
    private static let hasCURL = ["/usr/bin/curl", "/usr/local/bin/curl"].contains { FileManager.default.isExecutableFile(atPath: $0) }

    /// The body that `-F` sends, with a boundary of `B`.
    private func body(_ arguments: [String]) async throws -> String {
        let form = try MultipartForm(arguments: arguments)
        let response = ResponseBody(try await form.body().open())
        return String(decoding: try await response.collect(), as: UTF8.self).replacing(form.boundary.text, with: "B")
    }

    /// The body that curl sends for the same arguments.
    private func curlBody(_ arguments: [String]) async throws -> String {
        let server = try RawServer()
        let curl = try CommandProcess(["-s", server.url] + arguments.flatMap { ["-F", $0] }, running: ["curl"])
        _ = try await curl.outcome()
        let request = try #require(server.requests.first)
        let parts = request.components(separatedBy: "\r\n\r\n")
        let boundary = try #require(parts[0].components(separatedBy: "boundary=").last?.components(separatedBy: "\r\n").first)
        return parts.dropFirst().joined(separator: "\r\n\r\n").replacing(boundary, with: "B")
    }

    @Test(
        .enabled(if: hasCURL, "curl is not on this machine"),
        arguments: [
            ["a=x"], ["a="], ["a=x", "b=y"], [#"a="x;type=y""#], [#"a="x";type=t/u"#], ["a=x;type=t/u"], [#"a="x\"y\\z""#], [#"a=x"y"#],
            ["ä=é"], [#"a"b=c"#],
        ])
    func aTextIsSentLikeInCURL(arguments: [String]) async throws {
        #expect(try await body(arguments) == (try await curlBody(arguments)))
    }

    @Test(.enabled(if: hasCURL, "curl is not on this machine"))
    func aFileIsSentLikeInCURL() async throws {
        let folder = FileManager.default.temporaryDirectory.appendingPathComponent("errand-form-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: folder) }
        let plain = folder.appendingPathComponent("a.txt").path
        let odd = folder.appendingPathComponent(#"b;"c".bin"#).path
        for path in [plain, odd] { try Data("content of \(path.utf8.count)".utf8).write(to: URL(fileURLWithPath: path)) }
        let quoted = "\"" + odd.replacing("\"", with: "\\\"") + "\""
        for argument in [
            "f=@\(plain)", "f=@\(plain);type=t/u", "f=@\(plain);filename=n.txt", "f=@\(plain);filename=n.txt;type=t/u", "f=<\(plain)",
            "f=<\(plain);type=t/u", "f=@\(quoted)", #"f=@\#(plain);filename="x;y\"z""#,
        ] {
            #expect(try await body([argument]) == (try await curlBody([argument])), "\(argument)")
        }
    }

    /// As with curl, the form can be read by its boundary.
    @Test func aCustomContentTypeGetsTheBoundary() async throws {
        for (field, isOwn) in [("multipart/form-data", false), ("multipart/mixed; boundary=abc", true)] {
            let server = try RawServer()
            let command = try CommandProcess(["post", server.url, "-F", "a=1", "-H", "Content-Type: \(field)"])
            _ = try await command.outcome()
            let request = try #require(server.requests.first)
            let line = try #require(request.components(separatedBy: "\r\n").first { $0.lowercased().hasPrefix("content-type:") })
            #expect(line.hasSuffix(field) == isOwn && line.contains("boundary="), "\(line)")
        }
    }

    /// curl drops what stands after a semicolon, or sends an empty part, and says nothing.
    @Test(arguments: [
        ["a"], ["=x"], [#"a="x"#], [#"a="x";filename=n"#], [#"a="x";type=t/u;type=v/w"#], ["a=@x;size=3"], ["a=<x;filename=n"],
        ["a=@-", "b=@-"], [#"a=@"-""#, #"b=@"-""#], ["a=x;type="], ["a=x;type=t/u\r\nX: y"], [#"a="x";type="#], ["a=@x;type=a\nb"],
        ["a=<-;type=t/u", "b=@-"],
    ]) func anUnsendablePartIsAnError(arguments: [String]) {
        #expect(throws: ValidationError.self) { try MultipartForm(arguments: arguments) }
    }

    /// A mark that combines with what stands before it hides no sign.
    @Test func marksThatCombineAreText() async throws {
        let sent = try await body(["a=\u{301}b"])
        #expect(sent == "--B\r\nContent-Disposition: form-data; name=\"a\"\r\n\r\n\u{301}b\r\n--B--\r\n")
    }

    /// If a text is not a media type, the text stays a part of the value.
    @Test func aTextKeepsItsSemicolons() async throws {
        #expect(try await body(["a=x;y=z"]) == "--B\r\nContent-Disposition: form-data; name=\"a\"\r\n\r\nx;y=z\r\n--B--\r\n")
    }
}
