import ArgumentParser
import Errand
import Foundation

/// Runs the public vectors for cookies.
struct CookiesCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "cookies", abstract: "Stores the cookies of the public vectors, and writes the cookies that the next request carries.",
        usage: "conformance cookies --vectors <file> --output <file>",
        discussion: """
            The vectors are a JSON array of cases or of dates. A case has 'test', 'received' (values of Set-Cookie), 'sent-to', and 'sent' or \
            'sent_6265bis' (the expected cookies). A date has 'test' (the text) and 'expected' (the date, or null). The cookies are received on \
            2010-01-01.

            The output is a JSON array. A case is written as 'test' and 'sent', a date as 'test' and 'date'. A case that its authors exclude is \
            written as 'test' and 'excluded' (the reason), and is not run. Each difference is a line; with one, the exit code is 1.
            """)

    @Option(help: ArgumentHelp("The JSON file of the vectors.", valueName: "file")) var vectors: String
    @Option(help: ArgumentHelp("The JSON file to write.", valueName: "file")) var output: String

    func run() throws {
        let suite = try JSONDecoder().decode([CookieVector].self, from: Data(contentsOf: URL(fileURLWithPath: vectors)))
        let outcomes = try suite.map { try $0.outcome() }
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.prettyPrinted, .sortedKeys, .withoutEscapingSlashes]
        try encoder.encode(outcomes).write(to: URL(fileURLWithPath: output), options: .atomic)
        let excluded = outcomes.compactMap { outcome in outcome.excluded.map { "\(outcome.test): excluded: \($0)" } }
        let differences = zip(suite, outcomes).compactMap { $0.difference(from: $1) }
        for line in excluded + differences { print(line) }
        print("\(SafeText.counted(suite.count, "vector")), \(excluded.count) excluded, \(differences.count) differ")
        if !differences.isEmpty || suite.isEmpty { throw ExitCode.failure }
    }
}

/// A case of the suite: received cookies and the cookies of the next request, or a date.
struct CookieVector: Decodable {
    /// The name and the value of a cookie.
    struct Pair: Codable, Equatable, CustomStringConvertible {
        let name: String
        let value: String

        var description: String { "\(name)=\(value)" }
    }

    /// The result of a case.
    struct Outcome: Codable, Equatable {
        let test: String
        /// `nil` for a date, and for an excluded case.
        var sent: [Pair]?
        /// `nil` for a case of cookies, and for a text that is not a date.
        var date: String?
        var excluded: String?
    }

    private enum CodingKeys: String, CodingKey {
        case test, received, sent, expected, excluded
        case sentBy6265bis = "sent_6265bis"
        case target = "sent-to"
    }

    /// 2010-01-01T00:00:00Z.
    private static let now = Date(timeIntervalSince1970: 1_262_304_000)
    private static let origin = "http://home.example.org:8888"

    /// The name of the case, or the text of the date.
    let test: String
    /// `nil` for a date.
    let received: [String]?
    /// The cookies of the next request, by RFC 6265.
    let sent: [Pair]?
    /// The cookies of the next request, if RFC 6265bis has other cookies.
    let sentBy6265bis: [Pair]?
    /// The URL or the path of the next request.
    let target: String?
    /// The date; `nil` for a text that is not a date.
    let expected: String?
    /// The reason why nobody has to pass the case.
    let excluded: String?

    func outcome() throws -> Outcome {
        if excluded != nil { return Outcome(test: test, excluded: excluded) }
        guard let received else { return Outcome(test: test, date: HTTPDate(cookieDate: test)?.description) }
        let jar = CookieJar(now: { Self.now })
        let url = try HTTPURL("\(Self.origin)/cookie-parser?\(test)")
        for field in received {
            guard let cookie = SetCookie(field) else { continue }
            // A refused cookie is one that the next request does not carry.
            try? jar.set(cookie, from: url)
        }
        let target = target ?? "/cookie-parser-result?\(test)"
        let next = try HTTPURL(target.hasPrefix("http") ? target : Self.origin + target)
        return Outcome(test: test, sent: jar.cookies(for: next).map { Pair(name: $0.name, value: $0.value) })
    }

    /// A line for an outcome that is not the expected outcome.
    func difference(from outcome: Outcome) -> String? {
        if outcome.excluded != nil { return nil }
        guard received != nil else {
            return outcome.date == expected ? nil : "\(test): \(outcome.date ?? "no date"), expected: \(expected ?? "no date")"
        }
        let wanted = sentBy6265bis ?? sent
        return outcome.sent == wanted ? nil : "\(test): \(outcome.sent ?? []), expected: \(wanted ?? [])"
    }
}
