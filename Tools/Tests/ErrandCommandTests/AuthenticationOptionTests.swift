import ArgumentParser
import Errand
import Foundation
import Testing

@testable import ErrandCommand

@Suite(.timeLimit(.minutes(5)), .serialized) struct AuthenticationOptionTests {
    private func authentication(_ words: [String], environment: [String: String] = [:]) throws -> Authentication {
        try RequestArguments.parse(words + ["https://s3.eu-x.amazonaws.com/a"]).authentication(environment: environment)
    }

    private func field(_ words: [String], environment: [String: String] = [:]) throws -> String? {
        guard case .field(let value) = try authentication(words, environment: environment) else { return nil }
        return value
    }

    @Test func credentialsAreSentByBasicByDefault() throws {
        #expect(try field(["-u", "joe:p:w"]) == "Basic am9lOnA6dw==")
        #expect(try field(["--basic", "-u", "joe:p:w"]) == "Basic am9lOnA6dw==")
        #expect(try field(["--oauth2-bearer", "t0ken"]) == "Bearer t0ken")
        #expect(try field([]) == nil)
        guard case .scheme(let scheme) = try authentication(["--digest", "-u", "joe:pw"]) else { throw CancellationError() }
        #expect(scheme.label == "digest")
        guard case .scheme(let any) = try authentication(["--anyauth", "-u", "joe:pw"]) else { throw CancellationError() }
        #expect(any.label == "digest or basic")
    }

    @Test(arguments: [
        ("aws:amz:r:s", "awsV4(r, s)"), ("aws:amz:r", "awsV4(r, s3)"), ("aws:amz", "awsV4(eu-x, s3)"), ("AWS", "awsV4(eu-x, s3)"),
    ]) func aMissingScopeOfASignatureComesFromTheHost(provider: String, label: String) throws {
        guard case .signature(let signer) = try authentication(["--aws-sigv4", provider, "-u", "id:secret"]) else {
            throw CancellationError()
        }
        #expect(signer.label == label)
    }

    @Test(
        arguments: [
            (["--digest", "--basic", "-u", "a:b"], "--basic and --digest do not go together"),
            (["--oauth2-bearer", "x", "-u", "a:b"], "--oauth2-bearer and --user do not go together"),
            (["--digest"], "--digest needs credentials"), (["--aws-sigv4", "goog:x", "-u", "a:b"], "--aws-sigv4 must be"),
            (["--aws-sigv4", "aws:amz:r/:s", "-u", "a:b"], "invalid region"),
            (["--aws-sigv4", "aws:amz::s", "-u", "a:b"], "invalid region"),
            (["--aws-sigv4", "aws:amz:r:s:t", "-u", "a:b"], "--aws-sigv4 must be"),
            (["--proxy-digest", "--proxy-basic"], "--proxy-basic and --proxy-digest do not go together"),
        ] as [([String], String)]) func conflictingOptionsAreRefused(words: [String], expected: String) throws
    {
        let error = #expect(throws: (any Error).self) { try RequestArguments.parse(words + ["a.example"]) }
        #expect(RequestArguments.fullMessage(for: try #require(error)).contains(expected))
    }

    @Test func aHostWithoutARegionNeedsOne() throws {
        let arguments = try RequestArguments.parse(["--aws-sigv4", "aws:amz", "-u", "a:b", "http://127.0.0.1/"])
        #expect(throws: ValidationError.self) { try arguments.authentication(environment: [:]) }
    }

    @Test func theFileOfPasswordsIsReadForTheHost() throws {
        let folder = FileManager.default.temporaryDirectory.appendingPathComponent("errand-netrc-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: folder) }
        let file = folder.appendingPathComponent(".netrc")
        try Data("machine s3.eu-x.amazonaws.com login joe password pw\nmachine a.example login no password no".utf8).write(to: file)
        let environment = ["HOME": folder.path]
        #expect(try field(["-n"], environment: environment) == "Basic am9lOnB3")
        #expect(try field(["--netrc-file", file.path]) == "Basic am9lOnB3")
        #expect(try field(["--netrc-optional"], environment: ["HOME": "/nowhere"]) == nil)
        #expect(try field(["-n", "-u", "jim:x"], environment: environment) == "Basic amltOng=")
        #expect(try field(["-n", "-u", "joe"], environment: environment) == "Basic am9lOnB3")
        #expect(try field([], environment: environment) == nil, "only if it is asked for")
        #expect(throws: ValidationError.self) { try authentication(["-n"], environment: ["HOME": "/nowhere"]) }
        // An odd entry of another host does no harm.
        try Data("machine x secret\nmachine s3.eu-x.amazonaws.com login joe password pw".utf8).write(to: file)
        #expect(try field(["-n"], environment: environment) == "Basic am9lOnB3")
    }

    /// Arguments that the command does not understand may have a secret.
    @Test(arguments: [
        (["--auth", "me:hunter2hunter2"], "use -u USER:PASSWORD"), (["--auth", "hunter2hunter2"], "no login of this name"),
        (["--auth", "hunter2hunter2!"], "the name of a login has letters"), (["-j", "password:=hunter2hunter2"], "password=…"),
        (["-H", "Authorization Bearer hunter2hunter2"], "--header has no colon"), (["hunter2hunter2"], "of 14 characters"),
        (["-U", "hunter2hunter2", "-x", "p.example"], "--proxy-user must be"),
    ]) func noMessageAboutAnArgumentShowsASecret(words: [String], hint: String) async throws {
        for shown in [[], ["--curl"], ["-v"]] {
            let outcome = try await CommandProcess(["https://127.0.0.1:1/"] + words + shown).outcome()
            #expect(outcome.status == 64 && outcome.errors.contains(hint), "\(outcome.errors)")
            #expect(!(outcome.text + outcome.errors).contains("hunter2"), "\(outcome.errors)")
        }
    }

    @Test func aLoginIsNotNamed() async throws {
        for words in [["auth", "logout", "me:hunter2"], ["auth", "status", "hunter2"], ["auth", "logout", "hunter2"]] {
            let outcome = try await CommandProcess(words, through: ["env", "XDG_STATE_HOME=/nowhere"]).outcome()
            #expect(outcome.status == 64 && !outcome.errors.contains("hunter2"), "\(outcome.errors)")
        }
    }

    /// The command for curl, and the messages of the command, show no secret.
    @Test(arguments: [
        ["--digest", "-u", "joe:hunter2hunter2"], ["--anyauth", "-u", "joe:hunter2hunter2"], ["--oauth2-bearer", "hunter2hunter2"],
        ["--aws-sigv4", "aws:amz:r:s", "-u", "id:hunter2hunter2"], ["-u", "joe:hunter2hunter2"],
    ]) func noSecretIsShown(words: [String]) async throws {
        try await withRawServer(
            response:
                "HTTP/1.1 401 Unauthorized\r\nWWW-Authenticate: Digest realm=\"a\", nonce=\"n\", qop=\"auth\"\r\nContent-Length: 0\r\n\r\n"
        ) { (server: RawServer) async throws in
            for shown in [["--curl"], ["-v"], ["--profile"]] {
                let outcome = try await CommandProcess(["get"] + words + shown + [server.url]).outcome()
                #expect(!(outcome.text + outcome.errors).contains("hunter2"), "\(outcome.errors)")
                let encoded = Data("joe:hunter2hunter2".utf8).base64EncodedString()
                #expect(!(outcome.text + outcome.errors).contains(encoded), "\(outcome.errors)")
            }
        }
    }
}
