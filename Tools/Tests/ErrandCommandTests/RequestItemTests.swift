import ArgumentParser
import Errand
import Foundation
import Testing

@testable import ErrandCommand

struct RequestItemTests {
    @Test(
        arguments: [
            ("a=1", "a", .text, "1"), ("a:=1", "a", .json, "1"), ("a==1", "a", .query, "1"), ("A:1", "A", .header, "1"),
            ("A:", "A", .header, ""),
            ("A;", "A", .emptyHeader, ""), ("a=@f", "a", .textOfFile, "f"), ("a:=@f", "a", .jsonOfFile, "f"),
            ("a==@f", "a", .queryOfFile, "f"),
            ("A:@f", "A", .headerOfFile, "f"), ("a=", "a", .text, ""), ("a==", "a", .query, ""), ("a=b=c", "a", .text, "b=c"),
            ("a===b", "a", .query, "=b"), ("a=b:c", "a", .text, "b:c"), ("A:b=c", "A", .header, "b=c"), ("A:b:=c", "A", .header, "b:=c"),
            (#"a\=b=c"#, "a=b", .text, "c"), (#"a\:b=c"#, "a:b", .text, "c"), (#"a\:=c"#, "a:", .text, "c"),
            (#"a=b\=c"#, "a", .text, "b=c"),
            (#"a=C:\new"#, "a", .text, #"C:\new"#), (#"a=\"#, "a", .text, #"\"#), ("ä=ö", "ä", .text, "ö"),
            ("a=\u{301}b", "a", .text, "\u{301}b"),
            ("X-Tag: home", "X-Tag", .header, " home"), ("user.name=x", "user.name", .text, "x"),
        ] as [(String, String, RequestItem.Separator, String)])
    func anItemIsReadLikeInHTTPie(text: String, name: String, separator: RequestItem.Separator, value: String) throws {
        let item = try RequestItem(text)
        #expect(item.name == name && item.separator == separator && item.value == value, "\(item)")
    }

    @Test(arguments: [
        ("s3cret", "of 6 characters, has no '=' and no ':'"), ("http://b.example", "one URL"), ("https://b.example/?a=b", "one URL"),
        ("b.example:8080", "one URL"), ("localhost:8080/x", "one URL"), ("b.example/x?a=b", "one URL"), (":8080", "one URL"),
        ("=1", "one URL"),
        ("photo@s3cret.jpg", "Write -F photo=@…"), ("=s3cret", "'=…'"), ("https://b.example/?token=s3cret", "one URL"),
        ("a[b]=1", "a:='{…}'"), ("a[]:=1", "a:='{…}'"), ("A;b", "'A;' sends"),
        ("http://joe:s3cret@b.example", "one URL"), ("_", "quote the URL"),
    ]) func anInvalidItemIsExplained(text: String, hint: String) {
        let error = #expect(throws: ValidationError.self) { try RequestItem(text) }
        #expect(error?.message.contains(hint) == true && error?.message.contains("s3cret") == false, "\(String(describing: error))")
    }

    @Test func theInvalidItemIsCounted() throws {
        let error = #expect(throws: ValidationError.self) { try request(["a.example", "a=1", "s3cret"]) }
        #expect(error?.message.hasPrefix("argument 2 after the URL, of 6 characters, ") == true, "\(String(describing: error))")
    }

    @Test(arguments: [
        ("a=1", true), ("a:=1", true), ("a==1", true), ("a.b=1", true), ("a:1", false), ("a.example", false), ("localhost:80", false),
        ("http://a.example/?b=c", false), ("a.example/?b=c", false), ("a.example?b=c", false), (":80/?a=b", false), ("=1", false),
        ("", false),
        ("[::1]:80", false), ("a@b", false),
    ]) func onlyAnItemCanPrecedeTheURL(text: String, isNoURL: Bool) {
        #expect(RequestItem.isNoURL(text) == isNoURL)
    }

    private func request(_ words: [String], method: String? = nil) throws -> Request {
        try RequestArguments.parse(words).request(method: method)
    }

    @Test func itemsAreMembersQueriesAndFields() throws {
        let request = try request([
            "a.example/x?y=1", "text=tea", "n:=1.5", "all:=[true, null]", "q==a b", "X-Tag: home", "X-Empty;", "-j", "z=0",
        ])
        #expect(request.method == .post && request.head.path == "/x?y=1&q=a%20b")
        #expect(request.body.bufferedData == Data(#"{"all":[true,null],"n":1.5,"text":"tea","z":"0"}"#.utf8))
        #expect(request.headers[.contentType] == "application/json" && request.headers[.accept] == "application/json")
        #expect(request.headers[HTTPField.Name("X-Tag")!] == "home" && request.headers[HTTPField.Name("X-Empty")!] == "")
    }

    @Test func theMethodFollowsFromTheItems() throws {
        #expect(try request(["a.example", "q==1", "X:y"]).method == .get)
        #expect(try request(["a.example", "a=1"]).method == .post)
        #expect(try request(["a.example", "a=1"], method: "PUT").method == .put)
        #expect(try request(["-G", "a.example", "q==1"]).method == .get)
        #expect(try request(["a.example", "Accept:"]).headers[.accept] == nil)
    }

    @Test func anItemReadsItsValueFromAFile() throws {
        let file = FileManager.default.temporaryDirectory.appendingPathComponent("errand-\(UUID().uuidString)")
        defer { try? FileManager.default.removeItem(at: file) }
        try Data("[1]\n\n".utf8).write(to: file)
        let request = try request(["a.example", "t=@\(file.path)", "j:=@\(file.path)", "q==@\(file.path)", "X:@\(file.path)"])
        #expect(request.body.bufferedData == Data(#"{"j":[1],"t":"[1]\n\n"}"#.utf8))
        #expect(request.head.path == "/?q=%5B1%5D" && request.headers[HTTPField.Name("X")!] == "[1]")
        try Data([0xFF]).write(to: file)
        #expect(throws: ValidationError.self) { try self.request(["a.example", "t=@\(file.path)"]) }
        #expect(throws: ValidationError.self) { try self.request(["a.example", "t=@/no/such/file"]) }
    }

    @Test(
        arguments: [
            (["a.example", "a=s3cret"], "GET", "write a==…"), (["a.example", "a=s3cret"], "HEAD", "write a==…"),
            (["a.example", "-q", "b=1", "a=s3cret"], nil, "name the method"), (["a.example", "a:=s3cret"], nil, "not JSON"),
            (["-I", "a.example", "a=s3cret"], nil, "-I sends HEAD"), (["a.example", "X Y:s3cret"], nil, "the field name 'X Y' is invalid"),
            (["a.example", "-d", "b=1", "a=s3cret"], nil, "Repeat the option: -d"),
            (["a.example", "-F", "b=1", "a=s3cret"], nil, "Repeat the option: -F"),
            (["a.example", "--json", "{}", "a=s3cret"], nil, "whole body"), (["a.example", "-T", "x", "a:=1"], nil, "whole body"),
            (["-G", "a.example", "a=s3cret"], nil, "write a==…"),
        ] as [([String], String?, String)])
    func aMisplacedItemIsExplained(words: [String], method: String?, hint: String) {
        do {
            _ = try request(words, method: method)
            Issue.record("it is accepted")
        } catch {
            let message = (error as? ValidationError)?.message ?? RequestArguments.message(for: error)
            #expect(message.contains(hint) && !message.contains("s3cret"), "\(message)")
        }
    }

    @Test func aQueryAndAMemberGoTogetherWithAMethod() throws {
        let request = try request(["a.example", "-q", "b=1", "a=x"], method: "POST")
        #expect(request.head.path == "/?b=1" && request.body.bufferedData == Data(#"{"a":"x"}"#.utf8))
    }

    // MARK: - Hosts of one word

    @Test(arguments: [
        (["gett", "a.example:80"], "'gett'"), (["POSTS", "a.example", "a=1"], "did you mean 'post'"), (["options", "x:y"], "-X OPTIONS"),
        (["-v", "myhost", "a=1"], "http://myhost"), (["pots", "a==1"], "did you mean 'post'"),
    ]) func aWordBeforeItemsIsNotTakenForAHost(words: [String], hint: String) async throws {
        let outcome = try await CommandProcess(words).outcome()
        #expect(outcome.status == 64 && outcome.errors.contains(hint), "\(outcome.errors)")
    }

    @Test func theHostLocalhostIsKnown() async throws {
        try await withRawServer { (server: RawServer) async throws in
            for url in ["localhost", "LOCALHOST"] {
                let outcome = try await CommandProcess.run(url, "q==1", "--resolve", "*:80:127.0.0.1", "--curl")
                #expect(outcome.status == 0 && outcome.text.contains("/?q=1"), "\(outcome.errors)")
            }
        }
    }
}
