import Testing

@testable import ErrandFormats

@Suite(.timeLimit(.minutes(5))) struct JSONPointerTests {
    /// The document and the table of [RFC 6901, section 5](https://www.rfc-editor.org/rfc/rfc6901#section-5).
    private static let document: JSONValue = [
        "foo": ["bar", "baz"], "": 0, "a/b": 1, "c%d": 2, "e^f": 3, "g|h": 4, "i\\j": 5, "k\"l": 6, " ": 7, "m~n": 8,
    ]
    static let table: [(String, JSONValue)] = [
        ("", document), ("/foo", ["bar", "baz"]), ("/foo/0", "bar"), ("/", 0), ("/a~1b", 1), ("/c%d", 2), ("/e^f", 3), ("/g|h", 4),
        ("/i\\j", 5), ("/k\"l", 6), ("/ ", 7), ("/m~0n", 8),
    ]

    @Test(arguments: table) func placesOfTheStandardAreFound(text: String, value: JSONValue) throws {
        let pointer = try #require(JSONPointer(text))
        #expect(Self.document[at: pointer] == value && pointer.description == text)
    }

    /// The table of [section 6](https://www.rfc-editor.org/rfc/rfc6901#section-6).
    @Test(arguments: [
        ("#", ""), ("#/foo", "/foo"), ("#/foo/0", "/foo/0"), ("#/", "/"), ("#/a~1b", "/a~1b"), ("#/c%25d", "/c%d"), ("#/e%5Ef", "/e^f"),
        ("#/g%7Ch", "/g|h"), ("#/i%5Cj", "/i\\j"), ("#/k%22l", "/k\"l"), ("#/%20", "/ "), ("#/m~0n", "/m~0n"), ("/foo", "/foo"),
    ]) func fragmentsOfTheStandardAreRead(fragment: String, text: String) {
        #expect(JSONPointer(fragment: fragment) == JSONPointer(text))
    }

    @Test(arguments: ["a", "~", "/~", "/~2", "/a~", "/~01~"]) func anInvalidPointerIsRefused(text: String) {
        #expect(JSONPointer(text) == nil)
    }

    @Test(arguments: [
        "/foo/2", "/foo/-", "/foo/00", "/foo/01", "/foo/x", "/foo/-1", "/foo/99999999999999999999", "/bar", "/foo/0/x", "//", "/foo/",
    ])
    func aMissingPlaceIsNil(text: String) throws {
        #expect(Self.document[at: try #require(JSONPointer(text))] == nil)
    }

    @Test func aMissingMemberIsNotNull() {
        let json: JSONValue = ["a": nil]
        #expect(json[at: "/a"] == .some(.null) && json[at: "/b"] == nil)
        #expect(JSONPointer(["a/b", "~"]).description == "/a~1b/~0" && ("/a" as JSONPointer).appending("b~").description == "/a/b~0")
    }

    // MARK: Changes

    @Test func aPlaceIsSetAndRemoved() throws {
        var json: JSONValue = ["user": ["tags": ["a", "b"]]]
        try json.set("Ada", at: "/user/name")
        try json.set("c", at: "/user/tags/-")
        try json.set("B", at: "/user/tags/1")
        try json.set(1, at: "/user/tags/3")
        #expect(json == ["user": ["name": "Ada", "tags": ["a", "B", "c", 1]]])
        #expect(try json.remove(at: "/user/tags/0") == "a")
        #expect(try json.remove(at: "/user/nobody") == nil)
        // If a value is missing, its removal changes nothing, whatever the index is.
        for place: JSONPointer in ["/user/tags/9", "/user/tags/-", "/user/tags/x", "/user/tags/01"] {
            #expect(try json.remove(at: place) == nil)
        }
        #expect(json == ["user": ["name": "Ada", "tags": ["B", "c", 1]]])
        try json.set([1], at: "")
        #expect(json == [1])
    }

    @Test(arguments: ["/nobody/name", "/user/tags/9", "/user/tags/x", "/user/tags/0/x", "/user/tags/-/x"])
    func aMissingPlaceIsAnErrorWithoutAChange(
        text: String
    ) throws {
        let before: JSONValue = ["user": ["tags": ["a", "b"]], "other": 1]
        var json = before
        let pointer = try #require(JSONPointer(text))
        let error = #expect(throws: JSONPointerError.self) { try json.set(1, at: pointer) }
        #expect(json == before && error?.description.hasPrefix("cannot change \(text): ") == true)
        #expect(throws: JSONPointerError.self) { try json.remove(at: "") }
        #expect(throws: JSONPointerError.self) { try json.remove(at: "/user/nobody/name") }
        #expect(throws: JSONPointerError.self) { try json.remove(at: "/user/tags/9/name") }
        #expect(json == before)
    }

    @Test(arguments: ["/\u{301}", "~\u{301}x", "a/\u{200D}b", "~1", "/", "~\u{FE0F}", "\u{338}/"])
    func tokensAreEscapedByOctets(token: String) {
        let pointer = JSONPointer([token, "b"])
        #expect(JSONPointer(pointer.description) == pointer)
    }

    @Test func anErrorIsOneShortLine() {
        var json: JSONValue = [:]
        let token = "a\n\u{1B}[2J\u{202E}" + String(repeating: "x", count: 100_000)
        let error = #expect(throws: JSONPointerError.self) { try json.set(1, at: JSONPointer([token, "b"])) }
        #expect("\(error!)".count < 400 && "\(error!)".unicodeScalars.allSatisfy { $0.value >= 0x20 && $0 != "\u{202E}" })
    }
}
