import ErrandCore
import HTTPTypes
import Testing

@testable import ErrandCache

/// RFC 9111, sections 3.1 and 3.2.
@Suite(.timeLimit(.minutes(5))) struct StoredFieldsTests {
    private func stored(_ lines: [String], isShared: Bool = false) -> [String] {
        let fields = fields(lines)
        let stored = StoredFields.stored(fields, control: CacheControl(fields), isShared: isShared, received: beginning)
        return stored.map(\.name.rawName).filter { $0 != "Date" && $0 != "Cache-Control" }
    }

    @Test(
        arguments: [
            "Connection", "Keep-Alive", "Proxy-Connection", "Proxy-Authenticate", "Proxy-Authentication-Info", "Proxy-Authorization", "TE",
            "Transfer-Encoding", "Upgrade", "Trailer",
        ])
    func fieldsOfTheConnectionAreNotStored(_ name: String) { #expect(stored(["\(name): x", "A: 1"]) == ["A"]) }

    @Test(
        arguments: [
            "Set-Cookie", "Set-Cookie2", "Clear-Site-Data", "Content-MD5", "Content-Range", "Content-Length", "Content-Encoding", "ETag",
            "Expires", "Public-Key-Pins", "X-Frame-Options", "X-XSS-Protection", "Age", "Vary", "Warning",
        ])
    func otherFieldsAreStored(_ name: String) { #expect(stored(["\(name): x"]) == [name]) }

    @Test(
        arguments: [
            (["Connection: a, B", "a: 1", "b: 2", "c: 3"], false, ["c"]), (["Connection: a", "Connection: b", "a: 1", "b: 2"], false, []),
            (["Connection: close, a b, a", "a: 1"], false, []), (["Cache-Control: no-cache=\"a\"", "a: 1", "b: 2"], false, ["b"]),
            (["Cache-Control: no-cache=\"a, B\"", "a: 1", "b: 2"], false, []), (["Cache-Control: private=\"a\"", "a: 1"], false, ["a"]),
            (["Cache-Control: private=\"a\"", "a: 1"], true, []), (["Cache-Control: no-cache=a", "a: 1"], true, []),
            // A server can't remove its own limits.
            (["Connection: Vary, Expires", "Vary: a", "Expires: 0"], false, ["Vary", "Expires"]),
            (["Cache-Control: no-cache=\"content-encoding\"", "Content-Encoding: gzip"], false, ["Content-Encoding"]),
        ] as [([String], Bool, [String])])
    func namedFieldsAreNotStored(_ lines: [String], _ isShared: Bool, _ expected: [String]) {
        #expect(stored(lines, isShared: isShared) == expected)
    }

    /// RFC 9110, section 6.6.1.
    @Test func aResponseWithoutDateGetsOne() {
        func dates(_ lines: [String]) -> [String] {
            StoredFields.stored(fields(lines), control: CacheControl(fields(lines)), isShared: false, received: beginning)[values: .date]
        }
        #expect(dates([]) == [beginning.description] && dates(["Date: foo"]) == ["foo"])
    }

    @Test(
        arguments: [
            (["A: 1"], ["A: 2"], ["A: 2"]), (["A: 1", "B: 1"], ["A: 2"], ["B: 1", "A: 2"]), (["A: 1"], ["B: 2"], ["A: 1", "B: 2"]),
            (["A: 1", "A: 2"], ["A: 3"], ["A: 3"]), (["A: 1"], ["A: 2", "A: 3"], ["A: 2", "A: 3"]), (["A: 1"], [], ["A: 1"]),
            // RoverPlatform #102: a 304 freshens all of these. The age belongs to the old date.
            (
                ["Date: 1", "Expires: 1", "Cache-Control: 1", "Age: 1"], ["Date: 2", "Expires: 2", "Cache-Control: 2"],
                ["Date: 2", "Expires: 2", "Cache-Control: 2"]
            ),
            (["Age: 100"], ["Age: 5"], ["Age: 5"]), (["Age: 100"], [], []),
            // The bytes are the old ones.
            (["Content-Length: 36"], ["Content-Length: 10"], ["Content-Length: 36"]),
            (
                ["Content-Encoding: gzip", "Content-Type: a/b"], ["Content-Encoding: br", "Content-Type: c/d", "Content-Range: x"],
                ["Content-Encoding: gzip", "Content-Type: a/b"]
            ),
            ([], ["Content-Length: 0", "X-Content-Foo: 1"], ["X-Content-Foo: 1"]),
        ] as [([String], [String], [String])])
    func aNewResponseUpdates(_ old: [String], _ new: [String], _ expected: [String]) {
        #expect(StoredFields.updated(fields(old), with: fields(new)).map { "\($0.name.rawName): \($0.value)" } == expected)
    }

    @Test func anEffectIsNotRepeated() {
        let merged = fields(["Set-Cookie: a=1", "Clear-Site-Data: \"*\"", "Strict-Transport-Security: max-age=0", "A: 1"])
        #expect(StoredFields.withoutRepetitions(merged, sent: HTTPFields()).map(\.name.rawName) == ["A"])
        #expect(StoredFields.withoutRepetitions(merged, sent: fields(["Set-Cookie: b=1"])).map(\.name.rawName) == ["Set-Cookie", "A"])
    }
}
