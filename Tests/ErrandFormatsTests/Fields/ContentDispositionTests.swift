import ErrandTesting
import TestSupport
import Testing

@testable import ErrandFormats

@Suite(.timeLimit(.minutes(5))) struct ContentDispositionTests {
    @Test(
        arguments: [
            ("attachment", "attachment", nil), ("INLINE ; FILENAME = x", "inline", "x"),
            (#"attachment; filename="a b;c.txt""#, "attachment", "a b;c.txt"),
            (#"attachment; filename="a\"\\b\c""#, "attachment", #"a"\b\c"#),
            ("attachment; filename*=UTF-8''%e2%82%ac%20rates", "attachment", "€ rates"),
            ("attachment; filename*=iso-8859-1'en'%A3%20rates; filename=x", "attachment", "£ rates"),
            ("attachment; filename=x; filename*=UTF-8''y", "attachment", "y"),
            ("attachment; filename=x; filename*=UTF-8''%zz", "attachment", "x"),
            ("attachment; filename=x; filename*=UTF-8''%ff", "attachment", "x"),
            ("attachment; filename=x; filename*=KOI8-R''y", "attachment", "x"), ("attachment; filename=x; filename*=y", "attachment", "x"),
            ("attachment; filename=x; filename=y", "attachment", "x"), ("attachment;; foo; filename=foo bar.txt", "attachment", "foo"),
            ("attachment; filename=\"x", "attachment", nil), ("attachment; filename=", "attachment", ""),
            ("attachment; filename=ä.txt", "attachment", "ä.txt"), ("attachment; filename=a/b:c", "attachment", "a/b:c"),
        ] as [(String, String, String?)])
    func valuesAreRead(_ text: String, _ type: String, _ fileName: String?) {
        let disposition = ContentDisposition(text)
        #expect(disposition?.type == type && disposition?.fileName == fileName, "\(text): \(String(describing: disposition))")
    }

    @Test(arguments: ["", "; filename=x", "\"attachment\"; filename=x", "a b", "filename=x", "a," + String(repeating: "x", count: 9_000)])
    func anInvalidValueIsNil(_ text: String) { #expect(ContentDisposition(text) == nil) }

    @Test(
        arguments: [
            ("report.pdf", "report.pdf"), ("../../etc/passwd", "passwd"), ("../\u{301}x", "x"), ("..\\\u{301}x", "x"),
            (#"C:\temp\x.txt"#, "x.txt"), (#"..\..\x"#, "x"),
            ("a/", "download"),
            ("..", "download"), (".", "download"), ("...", "download"), ("", "download"), (" . ", "download"), (".bashrc", "bashrc"),
            ("a\u{0}b\r\nc\u{7F}\u{85}", "abc"), ("a\u{202E}gpj.exe", "agpj.exe"), ("a:b*c?\"<>|", "a_b_c_____"), ("x. .", "x"),
            ("naïve 😀.txt", "naïve 😀.txt"), ("a..b", "a..b"), ("\u{2028}", "download"), ("/", "download"), ("\\", "download"),
            (String(repeating: "a", count: 300) + ".tar", String(repeating: "a", count: 196) + ".tar"),
            (String(repeating: "ä", count: 300), String(repeating: "ä", count: 100)),
            ("x." + String(repeating: "y", count: 300), "x." + String(repeating: "y", count: 198)),
            // If the name is cut, the cut name ends with neither a space nor a dot.
            (String(repeating: "a", count: 198) + " ." + String(repeating: "y", count: 300), String(repeating: "a", count: 198)),
        ])
    func aFileIsSavedUnderASafeName(_ name: String, _ expected: String) {
        #expect(ContentDisposition(type: "attachment", fileName: name).safeFileName() == expected)
    }

    @Test func noNameLeavesTheFolder() {
        for invisible in ["\u{3164}", "\u{115F}\u{FE0F}", "\u{34F}", "\u{301}", " \u{301}\u{301}"] {
            #expect(ContentDisposition(type: "attachment", fileName: invisible).safeFileName() == "download")
        }
        #expect(ContentDisposition(type: "attachment", fileName: "e\u{301}.txt").safeFileName() == "e\u{301}.txt")
        #expect(ContentDisposition(type: "attachment").safeFileName(default: "page.html") == "page.html")
        #expect(ContentDisposition(type: "attachment").safeFileName(default: "../../x") == "x")
        #expect(ContentDisposition(type: "attachment").safeFileName(default: "..") == "download")
        var random = SeededGenerator(seed: 3)
        let alphabet = Array("./\\ :\0\r\u{202E}\u{301}aä😀*".unicodeScalars)
        for _ in 0..<5_000 {
            let count = Int.random(in: 0...(Bool.random(using: &random) ? 8 : 400), using: &random)
            let name = String(String.UnicodeScalarView((0..<count).map { _ in alphabet.randomElement(using: &random) ?? "a" }))
            let safe = ContentDisposition(type: "a", fileName: name).safeFileName()
            #expect(!safe.isEmpty && safe != "." && safe != ".." && safe.utf8.count <= ContentDisposition.safeFileNameLimitBytes)
            #expect(!safe.unicodeScalars.contains { "/\\:*".unicodeScalars.contains($0) || $0.value < 0x20 || $0.value == 0x202E })
        }
    }

    @Test(arguments: ["x.txt", "a \"b\"\\.txt", "€ rates", "", "a;b"]) func aWrittenValueIsRead(_ name: String) {
        let disposition = ContentDisposition(type: "attachment", name: name, fileName: name)
        #expect(ContentDisposition(disposition.description) == disposition, "\(disposition)")
    }

    @Test func aFieldHasNoControlCharacters() {
        #expect(ContentDisposition(type: "attachment", fileName: "a\r\nX: 1").description == #"attachment; filename="a__X: 1""#)
        #expect(
            ContentDisposition(type: "attachment", fileName: "€ rates").description
                == #"attachment; filename="_ rates"; filename*=UTF-8''%E2%82%AC%20rates"#)
    }

    @Test func randomTextIsReadOrRefused() {
        var random = SeededGenerator(seed: 4)
        let alphabet = Array("a;=\"\\*' %,<>é\u{0}f0-/\t".unicodeScalars)
        for _ in 0..<20_000 {
            let count = Int.random(in: 0...30, using: &random)
            let text = String(String.UnicodeScalarView((0..<count).map { _ in alphabet.randomElement(using: &random) ?? "a" }))
            _ = ContentDisposition("a; filename" + text)?.safeFileName()
            for link in WebLink.parse(["<" + text, "<a>;rel=" + text, text]) { #expect(!link.relations.isEmpty) }
            _ = ContentRange("bytes " + text)
            _ = ByteRange.parse("bytes=" + text)
            _ = ExtendedValue.decode("iso-8859-1''" + text)
        }
    }
}
