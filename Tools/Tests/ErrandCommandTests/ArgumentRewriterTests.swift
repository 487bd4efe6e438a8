import ArgumentParser
import Foundation
import Testing

@testable import ErrandCommand

struct ArgumentRewriterTests {
    /// Words are separated by spaces; `_` is an empty word.
    private static func words(_ text: String) -> [String] {
        text.split(separator: " ").map { $0 == "_" ? "" : String($0) }
    }

    @Test(arguments: [
        // Joined values.
        ("-XPOST URL", "-X POST URL"), ("-ofile URL", "-o file URL"), ("-uuser:pass URL", "-u user:pass URL"),
        ("-HName:value URL", "-H Name:value URL"), ("-d{} URL", "-d {} URL"), ("-d'a' URL", "-d 'a' URL"),
        ("-w%{http_code} URL", "-w %{http_code} URL"), ("-m5 URL", "-m 5 URL"), ("serve -p8080", "serve -p 8080"),
        ("-dä URL", "-d ä URL"), ("-d=x URL", "-d =x URL"), ("-X=POST URL", "-X =POST URL"), ("-o=file URL", "-o =file URL"),
        // Several options.
        ("-sS URL", "-s -S URL"), ("-iL URL", "-i -L URL"), ("-fsSL URL", "-f -s -S -L URL"), ("-sXPOST URL", "-s -X POST URL"),
        ("-sSo file URL", "-s -S -o file URL"), ("-sSofile URL", "-s -S -o file URL"), ("-# URL", "--progress-bar URL"),
        ("-s#L URL", "-s --progress-bar -L URL"), ("-vdv URL", "-v -d v URL"),
        // Values that begin with a dash.
        ("-r -5 URL", "-r=-5 URL"), ("-r-5 URL", "-r=-5 URL"), ("-d -v URL", "-d=-v URL"), ("-d-v URL", "-d=-v URL"),
        ("-o - URL", "-o - URL"), ("-o- URL", "-o - URL"), ("-d -- URL", "-d=-- URL"), ("-d --- URL", "-d=--- URL"),
        ("--range -5 URL", "--range=-5 URL"), ("--data --x URL", "--data=--x URL"), ("-d--json URL", "-d=--json URL"),
        ("-d-\u{301}x URL", "-d=-\u{301}x URL"), ("--range=-5 URL", "--range=-5 URL"),
        // A long option is a forgotten value.
        ("-d --verbose URL", "-d --verbose URL"), ("--json --data=x URL", "--json --data=x URL"), ("URL -o", "URL -o"),
        ("URL --data", "URL --data"), ("-A _ URL", "-A _ URL"), ("--proxy _ URL", "--proxy _ URL"),
        // Arguments that are not options are unchanged.
        ("-Zfoo URL", "-Zfoo URL"), ("-sZ URL", "-sZ URL"), ("-dverbose URL", "-d verbose URL"), ("-é URL", "-é URL"),
        ("--no-such -5 URL", "--no-such -5 URL"),
        ("---completion post -- URL -XPOST", "---completion post -- URL -XPOST"),
        // After "--", nothing is an option.
        ("-- -XPOST", "-- -XPOST"), ("-XPUT -- -XPOST", "-X PUT -- -XPOST"), ("-v -- post URL", "-v -- post URL"),
        // Options before the subcommand.
        ("--curl post URL -j a=1", "post --curl URL -j a=1"), ("-v get URL", "get -v URL"), ("-XPOST events URL", "events -X POST URL"),
        ("-H a:b -s put URL", "put -H a:b -s URL"), ("-d post URL", "-d post URL"), ("-d post put URL", "put -d post URL"),
        ("--data post URL", "--data post URL"), ("post URL get", "post URL get"), ("URL get", "URL get"), ("-v get", "get -v"),
        ("--cacert f auth login x", "auth login --cacert f x"), ("--cacert f auth URL login", "auth --cacert f URL login"),
        ("auth --cacert f status", "auth status --cacert f"), ("-p 80 serve", "serve -p 80"), ("-v help", "-v help"),
        ("help post -XPOST", "help post -XPOST"),
        // A method in capitals is its subcommand.
        ("POST URL a=1", "post URL a=1"), ("-v DELETE URL", "delete -v URL"), ("URL POST", "URL POST"), ("Post URL", "Post URL"),
        // Items before the URL.
        ("post -j a=1 b=x URL", "post -j a=1 URL b=x"), ("-j a=1 b:=2 c==3 post URL", "post -j a=1 URL b:=2 c==3"),
        ("-j a=1 b=x -- URL", "-j a=1 -- URL b=x"), ("a=1 b=2", "a=1 b=2"), ("URL a=1 b:c", "URL a=1 b:c"),
        ("localhost:8080 a=1", "localhost:8080 a=1"), ("a.example/?b=c a=1", "a.example/?b=c a=1"), ("a=/x URL", "URL a=/x"),
        ("", ""), ("_ URL", "_ URL"), ("-", "-"), ("--", "--"),
    ]) func argumentsBecomeFormsOfTheParser(arguments: String, expected: String) throws {
        #expect(try ArgumentRewriter.rewritten(Self.words(arguments)) == Self.words(expected))
    }

    @Test(arguments: ["-XPOST -sSL --range -5 --curl post URL -j a=1 b=2", "-d -v -r-5 URL a=1", "-#o - URL", "-o=file -d=x URL"])
    func rewrittenArgumentsAreNotRewrittenAgain(arguments: String) throws {
        let once = try ArgumentRewriter.rewritten(Self.words(arguments))
        // Only the parser has the form `-d=-v`.
        guard !once.contains(where: { $0.hasPrefix("-d=") || $0.hasPrefix("-r=") }) else { return }
        #expect(try ArgumentRewriter.rewritten(once) == once)
    }

    @Test(arguments: ["-data", "-json={}", "-verbose", "-user=joe:s3cret", "-head"]) func aLongNameAfterOneDashIsRefused(word: String) {
        let name = word.dropFirst().prefix { $0 != "=" }
        let error = #expect(throws: ValidationError.self) { try ArgumentRewriter.rewritten([word, "URL"]) }
        #expect(error?.message == "Unknown option '-\(name)'. Did you mean '--\(name)'?")
        #expect(throws: Never.self) { try ArgumentRewriter.rewritten(["--", word]) }
    }

    // MARK: - The options of the parser

    private struct Help: Decodable {
        struct Command: Decodable {
            let arguments: [Argument]?
            let subcommands: [Command]?
        }
        struct Argument: Decodable {
            struct Name: Decodable {
                let kind: String
                let name: String
            }
            let kind: String
            let names: [Name]?
        }
        let command: Command
    }

    @Test func theTableHasEachOptionOfTheParser() async throws {
        let outcome = try await CommandProcess.run("--experimental-dump-help")
        let help = try JSONDecoder().decode(Help.self, from: outcome.output)
        func arguments(_ command: Help.Command) -> [Help.Argument] {
            (command.arguments ?? []) + (command.subcommands ?? []).flatMap(arguments)
        }
        let all = arguments(help.command)
        func names(_ kind: String, _ length: String) -> Set<String> {
            Set(all.filter { $0.kind == kind }.flatMap { $0.names ?? [] }.filter { $0.kind == length }.map(\.name))
        }
        #expect(names("flag", "short") == Set(OptionTable.shortFlags.map(String.init)))
        #expect(names("option", "short") == Set(OptionTable.shortOptionsWithValues.map(String.init)))
        #expect(names("flag", "long") == OptionTable.longFlags)
        #expect(names("option", "long") == OptionTable.longOptionsWithValues)
    }

    // MARK: - Requests

    @Test(arguments: [
        ["-XPOST", "-sS", "-j", "a=1", "URL/"], ["--curl", "post", "URL/", "-ja=1"], ["-s", "post", "-ja=1", "URL/"],
        ["-j", "a=1", "post", "URL/"], ["URL/", "a=1"], ["-HX:y", "post", "URL/", "a=1"], ["-sm5", "post", "--", "URL/", "a=1"],
    ]) func theParserUnderstandsTheForms(words: [String]) async throws {
        try await withRawServer { (server: RawServer) async throws in
            let outcome = try await CommandProcess(words.map { $0.replacing("URL", with: server.url) }).outcome()
            #expect(outcome.status == 0, "\(outcome.errors)")
            if words.contains("--curl") { return #expect(outcome.text.contains("--request POST") || outcome.text.contains("-X POST")) }
            #expect(server.lastHead.first == "POST / HTTP/1.1")
            #expect(server.requests.last?.hasSuffix("\r\n\r\n{\"a\":\"1\"}") == true, "\(server.requests)")
        }
    }
}
