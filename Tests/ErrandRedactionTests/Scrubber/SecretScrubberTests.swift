import Errand
import Foundation
import TestSupport
import Testing

@testable import ErrandRedaction

/// Secrets are found however they are written, by work in proportion to the bytes.
@Suite(.timeLimit(.minutes(5))) struct SecretScrubberTests {
    private func steps(_ secrets: [String], _ text: String, isCut: Bool = false) -> Int {
        var steps = 0
        _ = SecretScrubber(secrets).edits(in: Array(text.utf8), isCut: isCut, steps: &steps)
        return steps
    }

    /// The text between the quotes.
    private static func json(_ text: String) throws -> String {
        String(decoding: try JSONEncoder().encode([text]), as: UTF8.self).dropFirst(2).dropLast(2).description
    }

    private static let secret = "C:\\new\"p\u{E9}/+ %41x"

    @Test func eachSpellingOfASecretIsFound() throws {
        let percent = try #require(Self.secret.addingPercentEncoding(withAllowedCharacters: .alphanumerics))
        let spellings = [
            Self.secret, percent, percent.lowercased().replacing("c%3a", with: "C%3a"), percent.replacing("%", with: "%25"),
            percent.replacing("%20", with: "+"),
            try Self.json(Self.secret), try Self.json(Self.json(Self.secret)), try Self.json(Self.json(Self.json(Self.secret))),
            try Self.json(percent),
            Self.secret.utf16.map { "\\u" + String(format: "%04X", $0) }.joined(),
            Data(("x" + Self.secret).utf8).base64EncodedString(), Data(("xy" + Self.secret + "z").utf8).base64EncodedString(),
            Data(Self.secret.utf8).base64EncodedString().replacing("+", with: "-").replacing("/", with: "_"),
            try Self.json(Data((">>>???" + Self.secret).utf8).base64EncodedString()),
        ]
        let scrubber = SecretScrubber([Self.secret, "other secret"])
        for spelling in spellings {
            for (front, back) in [("", ""), ("before: ", " behind"), ("\"", "\""), ("%20", "%20"), ("\\n", "\\n")] {
                let scrubbed = scrubber.scrubbed(front + spelling + back)
                #expect(scrubbed == front + "REDACTED" + back, "\(front)\(spelling)\(back)")
            }
        }
        #expect(!scrubber.finds(in: Array("C:\\new\"p\u{E9}/+ %41y, other secre".utf8)))
    }

    @Test(
        arguments: [
            (["12345678"], "a 12345678 b", "a 0 b"), (["12345678", "12345678abc"], "12345678abc", "REDACTED"),
            (["abcdefgh", "efghijkl"], "xabcdefghijklx", "xREDACTEDx"), (["abcd"], "xxabcdabcdxx", "xxREDACTEDREDACTEDxx"),
            (["aaaaaaaa"], String(repeating: "a", count: 20), "REDACTED"),
            (["bcdef"], "x " + Data("abcdefg".utf8).base64EncodedString(), "x REDACTED"),
            ([], "nothing", "nothing"), (["nothing else"], "", ""),
        ] as [([String], String, String)]) func overlappingSecretsAreReplacedTogether(
            _ secrets: [String], _ text: String, _ expected: String
        )
    {
        #expect(SecretScrubber(secrets).scrubbed(text) == expected)
    }

    /// Two secrets, although `==` takes them for one.
    @Test func bothFormsOfACharacterAreFound() {
        let (composed, decomposed) = ("caf\u{E9}-S3cret", "cafe\u{301}-S3cret")
        for secrets in [[composed, decomposed], [decomposed, composed]] {
            #expect(SecretScrubber(secrets).scrubbed("\(composed), \(decomposed)") == "REDACTED, REDACTED")
        }
    }

    @Test func secretsOfMarksAreComparedByWorkInProportionToTheirBytes() {
        let growth = growth(
            of: 2_000,
            making: { count in (0..<3).map { "a" + String(repeating: "\u{300}\u{316}", count: count) + "\($0)" } }
        ) { _ = SecretScrubber($0).finds(in: []) }
        #expect(growth < 30, "quadratic work grows 64 times")
    }

    @Test func theStartOfASecretAtACutIsFound() throws {
        let secret = "S3cret Value/of mine"
        let percent = try #require(secret.addingPercentEncoding(withAllowedCharacters: .alphanumerics))
        for spelling in [secret, percent, try Self.json(secret), secret.utf16.map { "\\u" + String(format: "%04x", $0) }.joined()] {
            for count in 0...spelling.utf8.count {
                let bytes = Array("front \(spelling.prefix(count))".utf8)
                let edits = SecretScrubber([secret]).edits(in: bytes, isCut: true)
                let shown = String(decoding: edits.applied(to: bytes), as: UTF8.self)
                // Five characters of it say nothing.
                #expect(shown.removingPercentEncoding?.contains("S3cret") != true && !shown.contains("\\u0074"), "\(shown)")
                #expect(shown.hasPrefix("front "))
            }
        }
    }

    private static let hostile: [@Sendable (Int) -> ([String], String)] = [
        // One long secret, and texts that differ from the secret in a few octets.
        { ([String(repeating: "a", count: $0)], String(repeating: "a", count: $0 - 1) + "b") },
        { ([String(repeating: "a", count: $0) + "c"], String(repeating: "a", count: 2 * $0)) },
        { ([String(repeating: "%", count: $0) + "c"], String(repeating: "%25", count: $0)) },
        { ([String(repeating: "\\", count: $0) + "c"], String(repeating: "\\", count: 2 * $0)) },
        { ([String(repeating: " ", count: $0) + "c"], String(repeating: "+", count: 2 * $0)) },
        { (["aaaaaaaab"], Data(repeating: UInt8(ascii: "a"), count: $0).base64EncodedString()) },
        { (["abcdef"], String(repeating: "YWJjZGVm", count: $0 / 8)) },
        // Many that begin alike, each of which is there.
        { count in
            let secrets = (0..<(count / 16)).map { "aaaaaaaa" + String($0 + 100_000) }
            return (secrets, secrets.joined(separator: ","))
        },
        { (["secret thing"], String(repeating: "\\u005cu005c", count: $0 / 11) + String(repeating: "%2525", count: $0 / 5)) },
    ]

    @Test(arguments: hostile.indices, [false, true]) func theWorkIsInProportionToTheBytes(_ index: Int, _ isCut: Bool) {
        for count in [2_000, 4_000, 8_000] {
            let (secrets, text) = Self.hostile[index](count)
            let steps = steps(secrets, text, isCut: isCut)
            // Each byte at each of fifteen ways to resolve escapes, each of these at four alignments of base64.
            #expect(steps <= 160 * text.utf8.count + 1_000, "\(count)")
        }
    }
}
