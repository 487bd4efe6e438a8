import ErrandFormats
import Testing

@Suite(.timeLimit(.minutes(5))) struct AcceptLanguageTests {
    @Test(arguments: [
        (["de"], "de"),
        (["de-AT", "de", "en"], "de-AT, de;q=0.9, en;q=0.8"),
        (["zh-Hant-TW", "*"], "zh-Hant-TW, *;q=0.9"),
        (["sl-rozaj-biske-1994", "de-u-co-phonebk", "x-private"], "sl-rozaj-biske-1994, de-u-co-phonebk;q=0.9, x-private;q=0.8"),
        // Identifiers of a locale.
        (["pt_BR", "zh_Hans_CN"], "pt-BR, zh-Hans-CN;q=0.9"),
    ])
    func theQualityFallsWithEachLanguage(_ preferred: [String], _ value: String) {
        let languages = AcceptLanguage(preferred: preferred)
        #expect(languages.value == value && languages.ignored.isEmpty)
        #expect(languages.languages.count == preferred.count)
    }

    @Test func anEleventhLanguageIsLeftOut() {
        let preferred = ["aa", "ab", "af", "ak", "am", "an", "ar", "as", "av", "ay", "az", "ba"]
        let languages = AcceptLanguage(preferred: preferred)
        #expect(
            languages.value
                == "aa, ab;q=0.9, af;q=0.8, ak;q=0.7, am;q=0.6, an;q=0.5, ar;q=0.4, as;q=0.3, av;q=0.2, ay;q=0.1")
        #expect(languages.languages == Array(preferred.prefix(AcceptLanguage.maxLanguages)) && languages.ignored == ["az", "ba"])
    }

    @Test(arguments: [
        "", " ", "-", "de-", "-de", "de--AT", "de AT", "de,en", "de;q=1", "de-AT\r\nX: y", "de\u{0}", "deutschland", "12", "1de", "d\u{E4}",
        "de\u{301}", "de-AT@calendar=gregorian", "de_DE.UTF-8", "**", "*-AT", "de-\u{660}", "a-" + String(repeating: "b-", count: 40) + "b",
    ])
    func anInvalidEntryIsLeftOut(_ entry: String) {
        #expect(AcceptLanguage(preferred: [entry]).value == nil)
        let languages = AcceptLanguage(preferred: ["fr", entry, "en"])
        #expect(languages.value == "fr, en;q=0.9" && languages.ignored == [entry])
    }

    @Test func aRepeatedLanguageIsLeftOut() {
        let languages = AcceptLanguage(preferred: ["en-US", "EN-us", "de", "en_US", "en"])
        #expect(languages.value == "en-US, de;q=0.9, en;q=0.8" && languages.ignored == ["EN-us", "en_US"])
    }

    @Test func anEmptyListHasNoValue() {
        #expect(AcceptLanguage(preferred: []).value == nil)
        #expect(AcceptLanguage(preferred: ["?"]).languages.isEmpty)
    }
}
