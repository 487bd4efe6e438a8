#if Auth
import ErrandCore
import ErrandFormats
import ErrandTesting
import Foundation
import TestSupport
import Testing

@testable import ErrandAuth

@Suite(.timeLimit(.minutes(5))) struct PublicSuffixTests {
    /// Returns a host in ASCII.
    private static func ascii(_ host: String) throws -> String {
        host.utf8.allSatisfy { $0 < 0x80 } ? host : try HTTPURL("https://\(host)/").origin.host
    }

    // MARK: The vectors of publicsuffix.org

    @Test(arguments: PublicSuffixVector.all) func theRegistrableDomainIsThatOfTheVector(_ vector: PublicSuffixVector) throws {
        let expected = try vector.domain.map(Self.ascii)
        #expect(PublicSuffixes.registrableDomain(of: vector.host) == expected)
        #expect(PublicSuffixes.registrableDomain(of: Substring(vector.host)) == expected)
        #expect(PublicSuffixes.registrableDomain(of: vector.host.uppercased()) == expected)
        // The vectors have hosts with a dot at the beginning, which are invalid, and none with a dot at the end.
        #expect(PublicSuffixes.registrableDomain(of: vector.host + ".") == expected)
        if vector.host.first != "." { #expect(PublicSuffixes.contains(vector.host) == (expected == nil)) }
    }

    // MARK: Rules

    /// A host, its suffix, and its suffix without the private section.
    struct Row: Sendable, CustomTestStringConvertible {
        let host: String
        let suffix: String?
        let registrySuffix: String?

        var testDescription: String { host }

        init(_ host: String, _ suffix: String?, registry: String? = nil) {
            (self.host, self.suffix, registrySuffix) = (host, suffix, registry ?? suffix)
        }
    }

    private static let rows = [
        Row("www.example.co.uk", "co.uk"), Row("uk", "uk"), Row("example.com", "com"), Row("EXAMPLE.Com.", "com"),
        // No rule of the list: the last label.
        Row("printer.localdomain", "localdomain"), Row("localhost", "localhost"), Row("a_b.c_d", "c_d"), Row("a.*", "*"),
        Row("*.com", "com"),
        // Wildcards and exceptions.
        Row("a.b.ck", "b.ck"), Row("b.ck", "b.ck"), Row("ck", "ck"), Row("www.ck", "ck"), Row("a.www.ck", "ck"), Row("www.a.ck", "a.ck"),
        Row("a.b.kawasaki.jp", "b.kawasaki.jp"), Row("a.city.kawasaki.jp", "kawasaki.jp"), Row("kawasaki.jp", "jp"),
        Row("*.ck", "*.ck"),
        // The private section.
        Row("user.github.io", "github.io", registry: "io"), Row("github.io", "github.io", registry: "io"),
        Row("bucket.s3.amazonaws.com", "s3.amazonaws.com", registry: "com"), Row("amazonaws.com", "com"),
        // Addresses and invalid texts.
        Row("192.0.2.1", nil), Row("127.1", nil), Row("2130706433", nil), Row("a.0x7F", nil), Row("a.0x", nil), Row("[::1]", nil),
        Row("::1", nil), Row("192.0.2.1.", nil), Row("", nil), Row(".", nil), Row("..", nil), Row(".com", nil), Row("a..com", nil),
        Row("a.com..", nil), Row("0x.com", "com"), Row("a.1x", "1x"), Row("1.a", "a"), Row("a.0xg", "0xg"),
        // A host in another script is not a part of another URL.
        Row("公司.cn@example.com", nil), Row("公司.cn/example.com", nil), Row("公司.cn:1", nil), Row("公司 .cn", nil),
    ]

    @Test(arguments: rows) func theSuffixIsThatOfTheLongestRule(_ row: Row) {
        #expect(PublicSuffixes.suffix(of: row.host) == row.suffix)
        #expect(PublicSuffixes.suffix(of: row.host, includesPrivate: false) == row.registrySuffix)
        let host = row.host.lowercased().hasSuffix(".") ? String(row.host.lowercased().dropLast()) : row.host.lowercased()
        #expect(PublicSuffixes.contains(row.host) == (row.suffix == host && row.suffix != nil))
        #expect(PublicSuffixes.contains(row.host, includesPrivate: false) == (row.registrySuffix == host && row.registrySuffix != nil))
    }

    @Test func aHostInAnotherScriptEqualsItsASCIIForm() {
        for host in ["www.食狮.公司.cn", "www.xn--85x722f.xn--55qx5d.cn", "WWW.XN--85X722F.公司.CN"] {
            #expect(PublicSuffixes.suffix(of: host) == "xn--55qx5d.cn")
            #expect(PublicSuffixes.registrableDomain(of: host) == "xn--85x722f.xn--55qx5d.cn")
        }
        #expect(PublicSuffixes.contains("公司.cn") && !PublicSuffixes.contains("食狮.公司.cn"))
    }

    // MARK: The list

    /// The list of the table, which `scripts/update-public-suffixes --fetch` stores.
    private static let list = Checkout.root.appendingPathComponent(".build/public-suffixes/public_suffix_list.dat")
    private static let missing: Comment = "no list of public suffixes: run scripts/update-public-suffixes --fetch"

    /// A plain reading of the list: sets of texts.
    private struct PlainList {
        var rules: [String: Bool] = [:]  // whether the rule is private
        var exceptions: Set<String> = []

        init(_ text: String) throws {
            var isPrivate = false
            for line in text.split(separator: "\n") {
                if line.hasPrefix("// ===BEGIN PRIVATE DOMAINS===") { isPrivate = true }
                guard !line.hasPrefix("//"), let rule = line.split(separator: " ").first else { continue }
                if rule.first == "!" {
                    exceptions.insert(try PublicSuffixTests.ascii(String(rule.dropFirst())))
                } else if rule.hasPrefix("*.") {
                    rules["*." + (try PublicSuffixTests.ascii(String(rule.dropFirst(2))))] = isPrivate
                } else {
                    rules[try PublicSuffixTests.ascii(String(rule))] = isPrivate
                }
            }
        }

        func suffix(of host: String, includesPrivate: Bool) -> String {
            let labels = host.split(separator: ".")
            func rest(_ index: Int) -> String { labels[index...].joined(separator: ".") }
            for index in labels.indices where exceptions.contains(rest(index)) { return rest(index + 1) }
            for index in labels.indices {
                for rule in [rest(index), "*." + rest(index + 1)] {
                    if let isPrivate = rules[rule], includesPrivate || !isPrivate { return rest(index) }
                }
            }
            return String(labels.last ?? "")
        }
    }

    @Test(.enabled(if: FileManager.default.fileExists(atPath: list.path), missing)) func everyRuleOfTheListIsInTheTable() throws {
        let list = try PlainList(String(contentsOf: Self.list, encoding: .utf8))
        #expect(list.rules.count > 9_000 && !list.exceptions.isEmpty)
        var wrong: [String] = []
        for rule in Array(list.rules.keys) + list.exceptions {
            let host = rule.hasPrefix("*.") ? "w" + rule.dropFirst() : rule
            let parent = host.split(separator: ".").dropFirst().joined(separator: ".")
            for host in [host, "a." + host, "b.a." + host, "x" + host, String(host.dropFirst()), parent] {
                // Other hosts are addresses or invalid.
                guard !host.isEmpty, host.first != "." else { continue }
                for includesPrivate in [true, false] {
                    let expected = list.suffix(of: host, includesPrivate: includesPrivate)
                    let found = PublicSuffixes.suffix(of: host, includesPrivate: includesPrivate)
                    if found != expected { wrong.append("\(host): \(found ?? "nil"), and not \(expected)") }
                }
            }
        }
        #expect(wrong.isEmpty, "\(wrong.prefix(10))")
    }

    // MARK: Bounds

    @Test func theTableIsSmallAndHasADate() {
        #expect(PublicSuffixes.table.octets.utf8CodeUnitCount <= 64 * 1024)
        #expect(PublicSuffixes.date > HTTPDate(secondsSinceEpoch: 1_790_000_000))
    }

    @Test func randomTextsAreNoProblem() {
        let random = SeededRandom(seed: 41)
        let octets = Array("abcmok.-*0x:[]@/ \u{e9}\u{516c}".unicodeScalars)
        for _ in 0..<20_000 {
            var text = String.UnicodeScalarView()
            for _ in 0..<Int(random.next() * 12) { text.append(octets[Int(random.next() * Double(octets.count)) % octets.count]) }
            let host = String(text)
            let (suffix, domain) = (PublicSuffixes.suffix(of: host), PublicSuffixes.registrableDomain(of: host))
            #expect(PublicSuffixes.contains(host) == (suffix != nil && domain == nil))
            guard let suffix, let domain else { continue }
            #expect(domain.hasSuffix("." + suffix) && PublicSuffixes.suffix(of: domain) == suffix)
        }
    }
}

@Suite(.serialized, .timeLimit(.minutes(5))) struct PublicSuffixLinearWorkTests {
    @Test(arguments: ["a", ".a", "a.", "amazonaws.", "com", ".com", "ck", ".ck", "*", "xn--", ".xn--55qx5d", "1", ".0x"])
    func aLookupTakesLinearTime(_ piece: String) {
        let growth = growth(of: 20_000, making: { String(repeating: piece, count: $0) + "a.co.uk" }) { host in
            _ = PublicSuffixes.registrableDomain(of: host)
        }
        #expect(growth < 16)
    }

    /// The first lookup decodes nothing, and takes as long as any other lookup.
    @Test func aLookupTakesMicroseconds() {
        let hosts = ["www.example.co.uk", "a.b.compute.amazonaws.com", "localhost"]
        let clock = ContinuousClock()
        let shortest = (0..<100).map { _ in clock.measure { for host in hosts { _ = PublicSuffixes.contains(host) } } }.min()
        #expect(shortest.map { $0 < .milliseconds(1) } == true)
    }
}
#endif
