import ErrandTesting
import HTTPTypes
import TestSupport
import Testing

@testable import ErrandFormats

@Suite(.timeLimit(.minutes(5))) struct MultipartReaderTests {
    /// A part as it is compared: its fields and its content.
    struct Part: Hashable, CustomStringConvertible {
        var head: [String]
        var content: String

        init(_ head: [String], _ content: String) { (self.head, self.content) = (head, content) }
        var description: String { "\(head): \(content)" }
    }

    /// The result of reading chunks: the parts, and the reason of the failure.
    struct Outcome: Hashable {
        var parts: [Part] = []
        var failure: MultipartError.Code?
    }

    private static let boundary = MultipartBoundary("b")!

    static func read(
        _ chunks: some Sequence<ArraySlice<UInt8>>, boundary: MultipartBoundary = boundary,
        headLimitBytes: Int = MultipartReader.defaultHeadLimitBytes,
        maxParts: Int = MultipartReader.defaultMaxParts
    ) -> Outcome {
        var reader = MultipartReader(boundary: boundary, headLimitBytes: headLimitBytes, maxParts: maxParts)
        var (outcome, current) = (Outcome(), [UInt8]())
        do throws(MultipartError) {
            for chunk in chunks {
                reader.append(chunk)
                while let event = try reader.next() {
                    switch event {
                    case .head(let head):
                        outcome.parts.append(Part(head.headers.map { "\($0.name.rawName): \($0.value)" }, ""))
                        current = []
                    case .content(let bytes):
                        #expect(!bytes.isEmpty)
                        current += bytes
                    case .end: outcome.parts[outcome.parts.count - 1].content = String(decoding: current, as: UTF8.self)
                    }
                }
            }
            try reader.finish()
            #expect(reader.isComplete)
        } catch {
            outcome.failure = error.code
        }
        return outcome
    }

    static func read(_ text: String) -> Outcome { read([Array(text.utf8)[...]]) }

    static let bodies: [(String, [Part], MultipartError.Code?)] = [
        ("--b--", [], nil),
        ("--b--\r\n", [], nil),
        ("preamble\r\n--b \t\r\n\r\nx\r\n--b-- \r\nepilogue\r\n--b\r\n\r\ny\r\n--b--", [Part([], "x")], nil),
        ("--b\r\nA: 1\r\nB:2 \r\n\r\nx\r\n--b\r\n\r\n\r\n--b--", [Part(["A: 1", "B: 2"], "x"), Part([], "")], nil),
        // A head without an empty line of its own, as the delimiter brings one.
        ("--b\r\nA: 1\r\n\r\n--b--", [Part(["A: 1"], "")], nil),
        ("--b\r\n\r\n\r\n\r\n--b--", [Part([], "\r\n")], nil),
        ("--b\r\nA: 1\r\n\t 2\r\n\r\nx\r\n--b--", [Part(["A: 1 2"], "x")], nil),
        // Other boundaries, and lines that only begin like a delimiter.
        ("--b\r\n\r\n\r\n--\r\n--a\r\n--bb\r\n--b-\r\n--b--", [Part([], "\r\n--\r\n--a\r\n--bb\r\n--b-")], nil),
        ("--b\r\n\r\nx\n--b--\n\r--b--\r\r\n--b--", [Part([], "x\n--b--\n\r--b--\r")], nil),
        ("--b\r\n\r\n\u{1F600}ä\0\r\n--b--", [Part([], "\u{1F600}ä\0")], nil),
        ("", [], .missingEnd),
        ("x--b--", [], .missingEnd),
        ("--b", [], .missingEnd),
        ("--b-", [], .missingEnd),
        ("--b\r\nA: 1\r\n", [], .missingEnd),
        ("--b\r\n\r\nx\r\n--", [Part([], "")], .missingEnd),
        ("--bx\r\n\r\ny", [], .missingEnd),
        ("--b x\r\n\r\ny\r\n--b--", [], .invalidDelimiter),
        ("--b\rx", [], .invalidDelimiter),
        // After spaces, a hyphen does not close the body, wherever a chunk ends.
        ("--b \t-", [], .invalidDelimiter),
        ("--b --\r\n\r\nx\r\n--b--", [], .invalidDelimiter),
        ("--b\r\nno field\r\n\r\nx\r\n--b--", [], .invalidHead),
        ("--b\r\nA : 1\r\n\r\nx\r\n--b--", [], .invalidHead),
        ("--b\r\nA: 1\nB: 2\r\n\r\nx\r\n--b--", [], .invalidHead),
        ("--b\r\nA: \0\r\n\r\nx\r\n--b--", [], .invalidHead),
        ("--b\r\n--b--", [], .missingEnd),
        // A delimiter within a head, where other readers end the part.
        ("--b\r\nA: 1\r\n--b--B: 2\r\n\r\nx\r\n--b--", [], .invalidHead),
        ("--b\r\nA: 1\r\n--b : 2\r\n\r\nx\r\n--b--", [], .invalidHead),
        ("--b\r\n--bB: 2\r\n\r\nx\r\n--b--", [Part(["--bB: 2"], "x")], nil),
    ]

    @Test(arguments: bodies) func partsAreRead(_ text: String, _ parts: [Part], _ failure: MultipartError.Code?) {
        #expect(Self.read(text) == Outcome(parts: parts, failure: failure), "\(text.debugDescription)")
    }

    @Test(arguments: bodies) func theSplitIntoChunksDoesNotMatter(_ text: String, _ parts: [Part], _ failure: MultipartError.Code?) {
        let bytes = Array(text.utf8)
        let expected = Outcome(parts: parts, failure: failure)
        #expect(Self.read(bytes.indices.map { bytes[$0...$0] }) == expected, "byte by byte")
        for first in 0...bytes.count {
            for second in first...bytes.count {
                let chunks = [bytes[..<first], bytes[first..<second], bytes[second...]]
                if Self.read(chunks) != expected {
                    Issue.record("\(text.debugDescription) split at \(first) and \(second): \(Self.read(chunks))")
                    return
                }
            }
        }
    }

    @Test func randomBytesAreReadTheSameAtEverySplit() {
        var random = SeededGenerator(seed: 18)
        let alphabet = Array("--bb\r\n\r\n\r\n: A\tx".utf8)
        for _ in 0..<3_000 {
            let start = Bool.random(using: &random) ? Array("--b\r\n".utf8) : []
            let bytes = start + (0..<Int.random(in: 0...60, using: &random)).map { _ in alphabet.randomElement(using: &random) ?? 0 }
            var (chunks, index) = ([ArraySlice<UInt8>](), 0)
            while index < bytes.count {
                let end = min(bytes.count, index + Int.random(in: 1...8, using: &random))
                chunks.append(bytes[index..<end])
                index = end
            }
            let (whole, split) = (Self.read([bytes[...]]), Self.read(chunks))
            #expect(whole == split, "\(String(decoding: bytes, as: UTF8.self).debugDescription)")
        }
        for _ in 0..<300 {
            let bytes = (0..<Int.random(in: 0...400, using: &random)).map { _ in UInt8.random(in: 0...255, using: &random) }
            #expect(Self.read([bytes[...]]) == Self.read(bytes.indices.map { bytes[$0...$0] }))
        }
    }

    @Test func headsAndTheNumberOfPartsAreBounded() {
        func text(_ head: String) -> [ArraySlice<UInt8>] { [Array("--b\r\n\(head)\r\n\r\nx\r\n--b--".utf8)[...]] }
        #expect(Self.read(text("A: " + String(repeating: "a", count: 90)), headLimitBytes: 100).failure == nil)
        #expect(Self.read(text("A: " + String(repeating: "a", count: 110)), headLimitBytes: 100).failure == .headTooLong)
        let endless = [Array("--b\r\nA: ".utf8)[...]] + (0..<30).map { _ in Array("aaaaaaaaaa".utf8)[...] }
        #expect(Self.read(endless, headLimitBytes: 100).failure == .headTooLong)
        #expect(Self.read(text((0..<65).map { "A\($0): 1" }.joined(separator: "\r\n"))).failure == .headTooLong)
        let two = Self.read([Array("--b\r\n\r\nx\r\n--b\r\n\r\ny\r\n--b--".utf8)[...]], maxParts: 1)
        #expect(two.failure == .tooManyParts && two.parts == [Part([], "x")])
    }

    @Test func aReaderThatFailedFailsAgain() {
        var reader = MultipartReader(boundary: Self.boundary)
        reader.append("--b x".utf8)
        for _ in 0..<2 { #expect(throws: MultipartError.self) { try reader.next() } }
        reader.append("\r\n--b--".utf8)
        #expect(throws: MultipartError.self) { try reader.next() }
        #expect(throws: MultipartError.self) { try reader.finish() }
        #expect(!reader.isComplete)
    }

    @Test func theHeadDescribesThePart() {
        let repeated = [
            HTTPField(name: .contentDisposition, value: "form-data; name=a"),
            HTTPField(name: .contentDisposition, value: "form-data; name=b"),
            HTTPField(name: .contentType, value: "text/plain"), HTTPField(name: .contentType, value: "text/plain"),
        ]
        #expect(MultipartHead(headers: HTTPFields(repeated)).name == "a")
        #expect(MultipartHead(headers: HTTPFields(repeated)).contentType?.essence == "text/plain")
        func head(_ disposition: String) -> MultipartHead {
            MultipartHead(headers: [.contentDisposition: disposition, .contentType: "Text/Plain; charset=utf-8"])
        }
        let file = head(#"form-data; name="a b"; filename="C:\temp\x \"1\".txt""#)
        #expect(file.name == "a b" && file.fileName == #"C:\temp\x "1".txt"# && file.contentType?.essence == "text/plain")
        let extended = head("form-data; name=a; filename=plain; filename*=UTF-8''%e2%82%ac.txt")
        #expect(extended.name == "a" && extended.fileName == "€.txt")
        #expect(MultipartHead(headers: [:]).name == nil && MultipartHead(headers: [:]).contentType == nil)
    }

    @Test func boundariesAreChecked() {
        for text in ["b", "a b", "'()+_,-./:=?", String(repeating: "a", count: 70)] { #expect(MultipartBoundary(text)?.text == text) }
        for text in ["", "a ", "a\r\nb", "a\"b", "ä", "a;b", String(repeating: "a", count: 71)] { #expect(MultipartBoundary(text) == nil) }
        #expect(MultipartBoundary("a b")?.contentType == "multipart/form-data; boundary=\"a b\"")
        var random = SeededGenerator(seed: 1)
        let some = (0..<100).map { _ in MultipartBoundary.random(using: &random) }
        #expect(Set(some).count == 100 && some.allSatisfy { $0.text.utf8.count == 39 && MultipartBoundary($0.text) == $0 })
        #expect(MultipartBoundary.random() != .random())
    }

    @Test func aWrittenFormIsRead() throws {
        let writer = MultipartWriter(boundary: Self.boundary)
        var body = try writer.start(isFirst: true, name: "a\"b\r\nc\\ä%", fileName: nil, contentType: nil) + Array("1".utf8)
        body += try writer.start(
            isFirst: false, name: "f", fileName: "\"\r\n.txt", contentType: "text/plain",
            fields: [.contentType: "x/y", .contentLanguage: "en"])
        body += writer.end(isEmpty: false)
        #expect(
            Self.read([body[...]]).parts == [
                Part([#"Content-Disposition: form-data; name="a%22b%0D%0Ac\ä%""#], "1"),
                Part(
                    [
                        #"Content-Disposition: form-data; name="f"; filename="%22%0D%0A.txt""#, "Content-Type: text/plain",
                        "Content-Language: en",
                    ], ""),
            ])
        #expect(Self.read([writer.end(isEmpty: true)[...]]) == Outcome())
        for type in ["a/b\r\nX: 1", "a\0", ""] {
            let error = #expect(throws: MultipartError.self) {
                try writer.start(isFirst: true, name: "a", fileName: nil, contentType: type)
            }
            #expect(error?.code == .invalidContentType)
        }
        #expect(Array("x--b".utf8).withUnsafeBytes { writer.isDelimiter(in: $0) })
        #expect(!Array("x-b".utf8).withUnsafeBytes { writer.isDelimiter(in: $0) })
    }

    @Test func aPatternIsFoundAtEveryOffset() {
        var random = SeededGenerator(seed: 2)
        func some(_ count: ClosedRange<Int>) -> [UInt8] {
            (0..<Int.random(in: count, using: &random)).map { _ in Bool.random(using: &random) ? 1 : 2 }
        }
        for _ in 0..<2_000 {
            let (pattern, bytes) = (some(1...4), some(0...12))
            let search = ByteSearch(pattern)
            let start = Int.random(in: 0...bytes.count, using: &random)
            let found = (start..<max(start, bytes.count)).first { bytes[$0...].starts(with: pattern) }
            let partial = (start..<max(start, bytes.count)).first { bytes.count - $0 < pattern.count && pattern.starts(with: bytes[$0...]) }
            bytes.withUnsafeBytes { raw in
                #expect(search.firstIndex(in: raw, from: start) == found)
                #expect(search.firstPartialIndex(in: raw, from: start) == partial ?? bytes.count)
            }
        }
    }
}
