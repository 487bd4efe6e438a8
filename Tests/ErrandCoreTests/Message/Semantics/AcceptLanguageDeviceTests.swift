import Errand
import Testing

@Suite(.timeLimit(.minutes(5))) struct AcceptLanguageDeviceTests {
    @Test func theLanguagesOfTheDeviceAreTheDefault() {
        #expect(AcceptLanguage() == AcceptLanguage(preferred: Locale.preferredLanguages))
        #expect(AcceptLanguage().languages.first == Locale.preferredLanguages.first)
    }
}
