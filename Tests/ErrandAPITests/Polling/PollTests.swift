import Errand
import Foundation
import TestSupport
import Testing

@testable import ErrandAPI

/// The next request of a polling. The tests use only the machine, without a clock and without a server.
@Suite struct PollTests {
    private var call: Request
    private let conditions: [HTTPField.Name] = [.ifMatch, .ifModifiedSince, .ifUnmodifiedSince, .ifRange, .range]

    init() throws {
        call = try Request(.get, url: "https://a.example/v1/jobs/7", headers: [.authorization: "Bearer s3cret"])
        for name in conditions { call.head.headerFields[name] = "*" }
    }

    private func head(_ status: Int, _ headers: HTTPFields = [:]) -> HTTPResponse {
        HTTPResponse(status: .init(code: status), headerFields: headers)
    }

    /// The target of the request after a response, or the code of the error.
    @Test(
        arguments: [
            (.get, 202, nil, "/v1/jobs/7"), (.get, 200, nil, "/v1/jobs/7"), (.get, 202, "/x?y=1", "/x?y=1"), (.get, 202, "../x", "/v1/x"),
            (.get, 200, "/x", "/v1/jobs/7"), (.get, 202, "", "/v1/jobs/7"), (.get, 202, "#x", "/v1/jobs/7"),
            (.head, 202, nil, "/v1/jobs/7"),
            (.post, 202, "/x", "/x"), (.post, 202, nil, "no URL to poll"), (.post, 200, "/x", "no URL to poll"),
            (.put, 201, "/x", "no URL to poll"), (.post, 202, "https://a.example:444/", "URL to poll at another origin"),
            (.post, 202, "//b.example/", "URL to poll at another origin"),
            (.post, 202, "http://a.example/", "URL to poll at another origin"),
            (.post, 202, "https://joe:pw@a.example/", "invalid URL to poll"), (.post, 202, "http://[/", "invalid URL to poll"),
        ] as [(HTTPRequest.Method, Int, String?, String)])
    func aResponseDecidesTheNextRequest(method: HTTPRequest.Method, status: Int, location: String?, next: String) throws {
        var poll = Poll(method: method)
        var call = call
        call.head.method = method
        let sent = try poll.request(from: call)
        do {
            try poll.recordResponse(head(status, location.map { [.location: $0] } ?? [:]), request: sent, .standard)
            #expect(try poll.request(from: call).url?.target == next)
        } catch let error as PollingError {
            #expect(error.code.description == next)
        }
        #expect(poll.count == 1)
    }

    /// Whether polling continues after the first failure of a GET, after the first failure of a POST, and after a later failure.
    @Test(
        arguments: [
            (408, true, false, true), (425, true, false, true), (429, true, false, true), (500, true, false, true),
            (503, true, false, true),
            (501, false, false, false), (505, false, false, false), (404, false, false, false), (401, false, false, false),
        ])
    func transientStatusesAreTolerated(
        status: Int, ofGET: Bool, ofPOST: Bool, later: Bool
    ) async throws {
        for (method, hasBegun, expected) in [(HTTPRequest.Method.get, false, ofGET), (.post, false, ofPOST), (.post, true, later)] {
            var poll = Poll(method: method)
            var call = call
            call.head.method = method
            if hasBegun { try poll.recordResponse(head(202, [.location: "/x"]), request: call, .standard) }
            let error = try await StatusError(reading: Response(head: head(status), request: call))
            #expect(poll.recordFailure(error, .standard, isLate: false) == expected, "\(method), \(hasBegun)")
        }
    }

    /// If no byte of a request was sent, the server can't have begun the work.
    @Test(arguments: [(Delivery.notSent, true), (.unknown, false), (.sent, false)])
    func anUnsentPOSTIsRepeated(delivery: Delivery, expected: Bool) {
        var poll = Poll(method: .post)
        var call = call
        call.head.method = .post
        let error = TransportError(.cannotConnect, phase: .connect, request: call, delivery: delivery)
        #expect(poll.recordFailure(error, .standard, isLate: false) == expected)
    }

    @Test func failuresInARowAreCounted() throws {
        var poll = Poll(method: .get)
        let error = TransportError(.connectionLost, phase: .response, request: call, delivery: .unknown)
        let policy = PollingPolicy(maxFailures: 2)
        for expected in [true, true, false, false] { #expect(poll.recordFailure(error, policy, isLate: false) == expected) }
        try poll.recordResponse(head(200), request: call, policy)
        #expect(poll.recordFailure(error, policy, isLate: false) && poll.failure != nil)
        poll.recordUnchanged(head(304))
        #expect(poll.failure == nil && poll.count == 5)
        for expected in [true, true, false] { #expect(poll.recordFailure(error, policy, isLate: false) == expected) }
    }

    /// Credentials of the call go to its own origin, also after a request to another origin.
    @Test func credentialsAreSentAgainAtTheirOrigin() throws {
        var poll = Poll(method: .get)
        let policy = PollingPolicy(allowedOrigins: ["https://b.example"])
        var sent = try poll.request(from: call)
        for (location, token) in [("https://b.example/x", nil), ("/y", nil), ("https://a.example/z", "Bearer s3cret")]
            as [(String, String?)]
        {
            try poll.recordResponse(head(202, [.location: location]), request: sent, policy)
            sent = try poll.request(from: call)
            #expect(sent.headers[.authorization] == token && conditions.allSatisfy { sent.headers[$0] == nil }, "\(location)")
        }
    }

    /// Each request without a Location begins again with the request of the call. Therefore the next requests still have the credentials
    /// after a redirected request.
    @Test func aRedirectOfOneRequestDoesNotAffectTheNextRequest() throws {
        var poll = Poll(method: .get)
        let policy = PollingPolicy(allowedOrigins: ["https://b.example"])
        var redirected = try poll.request(from: call)
        try redirected.move(to: HTTPURL("https://b.example/"), from: "https://a.example")
        try poll.recordResponse(head(200), request: redirected, policy)
        try poll.recordResponse(head(202, [.location: "/x"]), request: try poll.request(from: call), policy)
        #expect(try poll.request(from: call).headers[.authorization] == "Bearer s3cret")
    }

    @Test func theGETDoesNotGetTheKeyOfThePOST() throws {
        var poll = Poll(method: .post)
        var call = call
        call.head.method = .post
        call.options.idempotencyKey = .attached
        call.head.headerFields[.custom("Idempotency-Key")] = "k"
        try poll.recordResponse(head(202, [.location: "/x"]), request: try poll.request(from: call), .standard)
        let next = try poll.request(from: call)
        #expect(next.options.idempotencyKey == nil && next.headers[.custom("Idempotency-Key")] == nil)
    }

    /// If a redirect leads to an origin that is not allowed, that origin does not choose a URL that is requested with the credentials.
    @Test func anOriginAfterARedirectCannotUseTheCredentials() throws {
        var poll = Poll(method: .get)
        try poll.recordResponse(head(202, [.location: "/x"]), request: try poll.request(from: call), .standard)
        var sent = try poll.request(from: call)
        #expect(sent.headers[.authorization] == "Bearer s3cret")
        try sent.move(to: HTTPURL("https://evil.example/"), from: "https://a.example")
        #expect(throws: PollingError.self) {
            try poll.recordResponse(head(202, [.location: "https://a.example/admin"]), request: sent, .standard)
        }
    }

    @Test(arguments: [("*", false), ("", false), ("abc", false), ("\"", false), (#"W/"1""#, true), (#""""#, true), (#""a"b""#, false)])
    func onlyATagIsUsedAsACondition(value: String, isTag: Bool) throws {
        var poll = Poll(method: .get)
        try poll.recordResponse(head(200, [.eTag: value]), request: try poll.request(from: call), .standard)
        #expect(try poll.request(from: call).headers[.ifNoneMatch] == (isTag ? value : nil) && poll.isConditional == isTag)
    }

    @Test func aTagBelongsToItsURL() throws {
        var poll = Poll(method: .get)
        var sent = try poll.request(from: call)
        #expect(!poll.isConditional)
        try poll.recordResponse(head(200, [.eTag: #""1""#]), request: sent, .standard)
        sent = try poll.request(from: call)
        #expect(poll.isConditional && sent.headers[.ifNoneMatch] == #""1""#)
        try poll.recordResponse(head(202, [.location: "/x", .eTag: #""2""#]), request: sent, .standard)
        sent = try poll.request(from: call)
        #expect(!poll.isConditional && sent.headers[.ifNoneMatch] == nil)
    }
}
