import Errand
import TestSupport
import Testing

/// The decision of the policy for all methods, bodies and targets.
@Suite struct RedirectDecisionTests {
    enum Content: CaseIterable {
        case none, text, once

        var body: RequestBody {
            switch self {
            case .none: .empty
            case .text: .text("body")
            case .once: .stream(AsyncStream<Data> { $0.finish() })
            }
        }
    }

    struct Target: Sendable {
        let location: String
        let url: String
        var crossesOrigin = false
        var isDowngrade = false
    }

    static let methods: [HTTPRequest.Method] = [.get, .head, .post, .put, .patch, .delete, .options, .query]

    static let targets = [
        Target(location: "/y?q=1", url: "https://a.example/y?q=1"), Target(location: "y", url: "https://a.example/dir/y"),
        Target(location: "?q=2", url: "https://a.example/dir/x?q=2"),
        Target(location: "HTTPS://A.EXAMPLE:443/y#top", url: "https://a.example/y"),
        Target(location: "//b.example/y", url: "https://b.example/y", crossesOrigin: true),
        Target(location: "https://a.example:8443/y", url: "https://a.example:8443/y", crossesOrigin: true),
        Target(location: "https://sub.a.example/y", url: "https://sub.a.example/y", crossesOrigin: true),
        Target(location: "http://a.example/y", url: "http://a.example/y", crossesOrigin: true, isDowngrade: true),
        Target(location: "http://b.example/y", url: "http://b.example/y", crossesOrigin: true, isDowngrade: true),
    ]

    private func request(_ method: HTTPRequest.Method, _ content: Content, url: String = "https://a.example/dir/x") throws -> Request {
        var request = try Request(
            method, url: url, headers: [.authorization: "Bearer s3cret", .accept: "a/b", .contentType: "text/plain"], body: content.body)
        request.options.fallbackHeaders = [.cookie: "id=s3cret", .acceptLanguage: "de"]
        return request
    }

    private func head(_ status: Int, _ location: String) -> HTTPResponse {
        HTTPResponse(status: .init(code: status), headerFields: [.location: location])
    }

    @Test(arguments: [301, 302, 303, 307, 308], methods) func theTargetDecidesOnCredentialsAndTheMethodOnTheBody(
        status: Int, method: HTTPRequest.Method
    ) throws {
        let becomesGET = status == 303 ? method != .get && method != .head : status < 303 && method == .post
        for content in Content.allCases {
            for target in Self.targets {
                let what = Comment(rawValue: "\(status) \(method) \(content) to \(target.location)")
                let request = try request(method, content)
                if target.isDowngrade {
                    let error = #expect(throws: RedirectError.self, what) {
                        try RedirectPolicy.standard.decision(for: head(status, target.location), to: request, hops: 0)
                    }
                    #expect(error?.failureNumber == .redirectDowngrade, what)
                }
                let policy = RedirectPolicy(allowsDowngrade: true)
                let decision = try policy.decision(for: head(status, target.location), to: request, hops: 0)
                guard case .follow(let next) = decision else {
                    #expect(!becomesGET && content == .once, what)
                    continue
                }
                #expect(becomesGET || content != .once, what)
                #expect(next.method == (becomesGET ? .get : method) && next.url?.description == target.url, what)
                #expect(next.body.isEmpty == (becomesGET || content == .none), what)
                #expect(next.headers.contains(.contentType) != becomesGET && next.headers[.accept] == "a/b", what)
                #expect(next.headers.contains(.authorization) != target.crossesOrigin, what)
                #expect(next.options.fallbackHeaders.contains(.cookie) != target.crossesOrigin, what)
                #expect(next.options.fallbackHeaders[.acceptLanguage] == "de", what)
                #expect(next.options.hasLeftOrigin == target.crossesOrigin && next.id == request.id, what)
            }
        }
    }

    @Test func anUpgradeToHTTPSIsFollowedWithoutCredentials() throws {
        let request = try request(.get, .none, url: "http://a.example/x")
        let decision = try RedirectPolicy.standard.decision(for: head(301, "https://a.example/x"), to: request, hops: 0)
        guard case .follow(let next) = decision else {
            Issue.record("not followed")
            return
        }
        #expect(next.url?.description == "https://a.example/x" && !next.headers.contains(.authorization))
    }

    @Test(arguments: [200, 201, 300, 304, 305, 306, 399]) func aLocationWithAnotherStatusIsNotFollowed(status: Int) throws {
        let decision = try RedirectPolicy.standard.decision(for: head(status, "/y"), to: request(.get, .none), hops: 0)
        guard case .returnResponse = decision else {
            Issue.record("followed")
            return
        }
    }

    @Test func theNumberOfHopsIsLimited() throws {
        let policy = RedirectPolicy(maxHops: 2)
        _ = try policy.decision(for: head(302, "/y"), to: request(.get, .none), hops: 1)
        let error = try #require(
            #expect(throws: RedirectError.self) { try policy.decision(for: head(302, "/y"), to: request(.get, .none), hops: 2) })
        #expect(error.failureNumber == .tooManyRedirects)
    }
}
