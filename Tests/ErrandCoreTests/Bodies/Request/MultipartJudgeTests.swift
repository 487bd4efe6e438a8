import Errand
import ErrandCore
import ErrandFormats
import Foundation
import TestSupport
import Testing

/// Other programs read our forms, and our reader reads theirs.
@Suite(
    .timeLimit(.minutes(5)), .enabled(if: Suites.folder != nil, Comment(rawValue: Suites.missing)),
    .enabled(Comment(rawValue: MultipartJudge.missing)) { await MultipartJudge.isHere() })
struct MultipartJudgeTests {
    private func bytes(of form: MultipartForm) async throws -> Data {
        let source = try await form.body().open()
        var all = Data()
        while let chunk = try await source.next() { all.append(chunk) }
        return all
    }

    /// The name with the escapes of browsers. By scalars: CR LF is one character.
    private func escaped(_ name: String) -> String {
        let escapes: [Unicode.Scalar: String] = ["\"": "%22", "\r": "%0D", "\n": "%0A"]
        return name.unicodeScalars.map { escapes[$0] ?? String($0) }.joined()
    }

    /// Names that all parsers read alike.
    static let names = [
        "a.txt", "näu 😀.txt", "a;b=c.txt", "../../etc/passwd", "100%.txt", "a\tb", "a\u{0}b", "a\u{B}b", "a\u{7F}b", "a\u{85}b",
        "a\u{2028}b", "a'b",
        ".", "a,b", "a\u{202E}b", String(repeating: "x", count: 300), "utf-8''a", "--b--",
    ]

    @Test func formsAreReadAlikeByAllParsers() async throws {
        let folder = try TestFolder("multipart-judge")
        let contents = [Data(), Data("\r\n--b\r\n--b--\r\n".utf8), Data.seeded(300_000), Data("--".utf8), Data([0x0D])]
        var form = MultipartForm()
        form.append("text", "x\r\ny")
        form.append("empty", "")
        form.append("näu", "😀")
        for (index, name) in Self.names.enumerated() {
            let data = contents[index % contents.count]
            if index % 2 == 0 {
                form.append("f\(index)", .data(data, fileName: name))
            } else {
                form.append("f\(index)", .file(atPath: try folder.write(data, to: "\(index)"), fileName: name))
            }
        }
        let judgment = try await MultipartJudge.judge(bytes(of: form), contentType: form.contentType)
        #expect(judgment.agrees, "\(judgment.verdicts)")
        var expected: Set<MultipartJudge.Part> = [
            MultipartJudge.Part(name: "text", fileName: nil, length: 4), .init(name: "empty", fileName: nil, length: 0),
            .init(name: "näu", fileName: nil, length: 4),
        ]
        for (index, name) in Self.names.enumerated() {
            expected.insert(.init(name: "f\(index)", fileName: name, length: contents[index % contents.count].count))
        }
        for (parser, verdict) in judgment.verdicts {
            guard case .parts(let parts) = verdict else {
                Issue.record("\(parser): \(verdict)")
                continue
            }
            #expect(Set(parts) == expected && parts.count == expected.count, "\(parser)")
        }
    }

    /// Some parsers undo the escapes of browsers, and some do not. None sees another part or another content.
    @Test(arguments: ["a\"b.txt", "a\r\nX: 1.txt", "a\r\n\r\n--b--", "\"; name=\"other", "\"\r\n\r\nevil\r\n", "%22"])
    func hostileNamesAddNothing(_ name: String) async throws {
        let form: MultipartForm = ["file": .data(Data("content".utf8), fileName: name), "after": "x"]
        let expected = escaped(name)
        let undone = name.replacing("%22", with: "\"")
        let judgment = try await MultipartJudge.judge(bytes(of: form), contentType: form.contentType)
        for (parser, verdict) in judgment.verdicts {
            guard case .parts(let parts) = verdict else {
                Issue.record("\(parser): \(verdict)")
                continue
            }
            #expect(Set(parts.map(\.name)) == ["file", "after"] && parts.count == 2, "\(parser)")
            let file = parts.first { $0.name == "file" }
            let shown = (file?.fileName).map { self.escaped($0) }
            #expect(file?.length == 7 && (shown == expected || file?.fileName == undone), "\(parser): \(String(describing: file))")
        }
    }

    @Test func bodiesOfOtherProgramsAreRead() async throws {
        let names = ["plain.txt", "a b;c=d.txt", "näu 😀.txt", "100%.txt"]
        let bodies = try await MultipartJudge.bodies()
        #expect(bodies.count == (Programs.find("curl") == nil ? 2 : 3))
        for (program, (body, contentType)) in bodies {
            let boundary = try #require(MediaType(contentType)?[parameter: "boundary"].flatMap { MultipartBoundary($0) }, "\(program)")
            var reader = MultipartReader(boundary: boundary)
            var (fileNames, lengths) = ([String](), [Int]())
            for start in stride(from: 0, to: body.count, by: 100) {
                reader.append(body.dropFirst(start).prefix(100))
                while let event = try reader.next() {
                    switch event {
                    case .head(let head):
                        fileNames.append(head.fileName ?? head.name ?? "")
                        lengths.append(0)
                    case .content(let bytes): lengths[lengths.count - 1] += bytes.count
                    case .end: break
                    }
                }
            }
            try reader.finish()
            let expected: [Int] =
                switch program {
                case "werkzeug": [6, 256, 512, 768, 1024]
                case "curl": [1, 256, 256, 256, 256]
                default: [0, 1, 2, 3]
                }
            #expect(fileNames == (program == "email" ? [] : ["text"]) + names && lengths == expected, "\(program): \(fileNames) \(lengths)")
        }
    }
}
