import ErrandFormats
import Testing

@Suite(.timeLimit(.minutes(5))) struct JSONValueChangesTests {
    /// The table of [RFC 7396, appendix A](https://www.rfc-editor.org/rfc/rfc7396#appendix-A).
    static let patches: [(String, String, String)] = [
        (#"{"a":"b"}"#, #"{"a":"c"}"#, #"{"a":"c"}"#), (#"{"a":"b"}"#, #"{"b":"c"}"#, #"{"a":"b","b":"c"}"#),
        (#"{"a":"b"}"#, #"{"a":null}"#, "{}"), (#"{"a":"b","b":"c"}"#, #"{"a":null}"#, #"{"b":"c"}"#),
        (#"{"a":["b"]}"#, #"{"a":"c"}"#, #"{"a":"c"}"#), (#"{"a":"c"}"#, #"{"a":["b"]}"#, #"{"a":["b"]}"#),
        (#"{"a":{"b":"c"}}"#, #"{"a":{"b":"d","c":null}}"#, #"{"a":{"b":"d"}}"#), (#"{"a":[{"b":"c"}]}"#, #"{"a":[1]}"#, #"{"a":[1]}"#),
        (#"["a","b"]"#, #"["c","d"]"#, #"["c","d"]"#), (#"{"a":"b"}"#, #"["c"]"#, #"["c"]"#), (#"{"a":"foo"}"#, "null", "null"),
        (#"{"a":"foo"}"#, #""bar""#, #""bar""#), (#"{"e":null}"#, #"{"a":1}"#, #"{"e":null,"a":1}"#),
        ("[1,2]", #"{"a":"b","c":null}"#, #"{"a":"b"}"#), ("{}", #"{"a":{"bb":{"ccc":null}}}"#, #"{"a":{"bb":{}}}"#),
    ]

    @Test(arguments: patches) func mergePatchesMatchTheStandard(target: String, patch: String, result: String) throws {
        let (target, patch, result) = (
            try JSONValue(parsing: target.utf8), try JSONValue(parsing: patch.utf8), try JSONValue(parsing: result.utf8)
        )
        #expect(target.merged(with: patch) == result)
        // The created patch leads to the same value, unless a member becomes null.
        if !"\(result)".contains("null") { #expect(target.merged(with: target.mergePatch(to: result)) == result) }
    }
}
