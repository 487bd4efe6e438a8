import ErrandFormats
import HTTPTypes
import Testing

@Suite(.timeLimit(.minutes(5))) struct CustomFieldNameTests {
    @Test func aCustomNameIsWrittenInPlace() {
        var headers: HTTPFields = [.custom("X-Api-Key"): "k", .accept: "text/plain"]
        headers[.custom("x-tenant")] = "blue"
        #expect(headers[HTTPField.Name("X-API-KEY")!] == "k" && headers[.custom("X-Tenant")] == "blue")
        #expect(HTTPField.Name.custom("X-Api-Key").rawName == "X-Api-Key")
    }

    #if !os(iOS) && !os(tvOS) && !os(watchOS) && !os(visionOS)
    @Test func theErrorOfAnInvalidNameShowsTheName() async {
        let result = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
            _ = HTTPField.Name.custom("X Api Key")
        }
        let message = String(decoding: result?.standardErrorContent ?? [], as: UTF8.self)
        #expect(message.contains("name must be a token of letters, digits and !#$%&'*+-.^_`|~ (is 'X Api Key')"))
    }
    #endif
}
