import Errand
import Foundation
import Testing

/// `MiddlewarePlace.canonicalOrder` is the source of the order. The texts that show the order are compared with it.
@Suite struct CanonicalOrderTests {
    /// Places of planned middleware. The texts do not name these places.
    private static let toCome: Set<MiddlewarePlace> = []
    private static let lead = "canonical order, outermost first:"

    /// The paths of the repository's texts.
    private static func texts() throws -> [URL] {
        let root = URL(fileURLWithPath: #filePath).deletingLastPathComponent().deletingLastPathComponent().deletingLastPathComponent()
        let articles = root.appendingPathComponent("Sources/Errand/Errand.docc")
        let names = try FileManager.default.contentsOfDirectory(atPath: articles.path).filter { $0.hasSuffix(".md") }
        return ["README.md", "CONTRIBUTING.md", "SECURITY.md"].map(root.appendingPathComponent) + names.map(articles.appendingPathComponent)
    }

    /// The names that follow each lead, up to the end of the sentence. The words for middleware without rules count as `unplaced`.
    static func orders(in text: String) -> [[String]] {
        text.replacingOccurrences(of: "\n", with: " ").components(separatedBy: lead).dropFirst().map { rest in
            let sentence = rest.components(separatedBy: ". ")[0].trimmingCharacters(in: CharacterSet(charactersIn: " ."))
            return sentence.components(separatedBy: ", ").map { name in
                if name.hasPrefix("`") { return name.trimmingCharacters(in: CharacterSet(charactersIn: "` ")) }
                return name == "transport" ? name : "unplaced"
            }
        }
    }

    @Test func everyTextShowsTheOrderOfTheLibrary() throws {
        let order = MiddlewarePlace.canonicalOrder.filter { !Self.toCome.contains($0) }.map(\.description) + ["transport"]
        var count = 0
        for file in try Self.texts() {
            for shown in Self.orders(in: try String(contentsOf: file, encoding: .utf8)) {
                #expect(shown == order, "\(file.lastPathComponent)")
                count += 1
            }
        }
        #expect(count >= 1, "no text shows the order")
    }

    /// The first words of the lines of a picture, between the two arrows.
    private static func picture(in path: String) throws -> [String] {
        let rest = try ReadmeTests.text(of: path).components(separatedBy: "```\n request ").dropFirst().first ?? ""
        return rest.components(separatedBy: "\n```")[0].split(separator: "\n").dropFirst().compactMap { line in
            line.split(separator: " ").dropFirst().first.map(String.init)
        }
    }

    private static func names(_ stack: HTTPStack) -> [String] { stack.layers.map { String($0.label.prefix { $0 != "(" }) } }

    @Test func thePicturesShowTheLayersOfTheirStacks() throws {
        let github = HTTPStack.default.retry().timeout(.seconds(30)).server("https://api.github.com")
        #expect(try Self.picture(in: "README.md") == Self.names(github))
        let tenant = HTTPStack.default.wrapped(by: TenantMiddleware(tenant: "blue")).retry()
        #expect(try Self.picture(in: ReadmeTests.guides + "WritingMiddleware.md") == Self.names(tenant))
    }

    @Test func theOrderOfATextIsRead() {
        let text = "The canonical order, outermost first: `server`, middleware of your own\nwithout rules, `retry`, transport. The rest."
        #expect(Self.orders(in: text) == [["server", "unplaced", "retry", "transport"]])
        #expect(Self.orders(in: "No order.").isEmpty)
    }
}
