import ErrandCore
import HTTPTypes
import Testing

@testable import ErrandCache

/// What descriptions and mirrors show of stored responses.
@Suite(.timeLimit(.minutes(5))) struct CacheDescriptionTests {
    @Test func noDescriptionShowsAStoredSecret() {
        let selection = CacheSelection(fields: [.init(name: .acceptLanguage, value: .text("hidden")), .init(name: .cookie, value: .absent)])
        let head = head(["Set-Cookie: id=hidden", "X-Note: hidden"], selection: selection)
        let entry = entry(7, head)
        let listed = ListedCacheEntry(
            url: "https://api.example/a?token=hidden", belongsToAccount: true, hasContent: false, entry: entry)
        let values: [Any] = [listed, entry, head, selection, selection.fields[0], selection.fields[0].value]
        for value in values {
            var dumped = ""
            dump(value, to: &dumped)
            for text in ["\(value)", String(reflecting: value), dumped] { #expect(!text.contains("hidden"), "\(text)") }
        }
        #expect("\(listed)" == "https://api.example/a?token=REDACTED: entry 7, status 200, 10 bytes")
        #expect("\(selection)" == "accept-language, cookie" && "\(CacheSelection(isUnmatchable: true))" == "*")
        #expect("\(selection.fields[0].value)" == "text")
    }
}
