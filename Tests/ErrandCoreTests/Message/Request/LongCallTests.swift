import Testing

@testable import ErrandCore

/// A request that is prepared for a call of any length.
@Suite struct LongCallTests {
    @Test func theTimeoutsOfTheStackDoNotApply() throws {
        var request = try Request(.get, url: "https://a.example/x")
        (request.options.timeout, request.options.attemptTimeout) = (.seconds(1), .seconds(1))
        request.prepareForLongCall()
        #expect(request.options.timeout.isOff && request.options.attemptTimeout.isOff)
        #expect(request.options.phaseTimeouts.isInherited)
    }

    @Test(arguments: [nil, "gzip", ""]) func theBodyHasNoContentCodingUnlessTheAppAsksForOne(chosen: String?) throws {
        var request = try Request(.get, url: "https://a.example/x")
        request.headers[.acceptEncoding] = chosen
        request.prepareForLongCall()
        #expect(request.headers[.acceptEncoding] == chosen ?? "identity")
    }
}
