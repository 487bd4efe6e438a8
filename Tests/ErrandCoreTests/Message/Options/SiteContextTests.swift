import Errand
import TestSupport
import Testing

@testable import ErrandCore

@Suite struct SiteContextTests {
    @Test func aRequestOfTheAppHasNoContext() { #expect(RequestOptions().siteContext == nil) }

    /// A redirect to another site must not make a request of the same site.
    @Test(arguments: SiteContext.allCases) func theContextStaysAcrossOrigins(_ context: SiteContext) {
        var options = RequestOptions()
        options.siteContext = context
        options.removeOriginBoundOptions()
        #expect(options.siteContext == context)
    }

    @Test func theOriginOfThePageIsRecordedOnce() throws {
        var request = try Request(.get, url: "https://a.example/")
        request.options.siteContext = .sameSite
        for url in ["https://a.example/2", "https://b.example/", "https://c.example/"] {
            #expect(request.options.originOfPage == (url == "https://c.example/" ? Origin("https://a.example") : nil))
            try request.move(to: HTTPURL(url), from: request.origin)
        }
        #expect(request.options.originOfPage == Origin("https://a.example") && request.options.siteContext == .sameSite)
    }

    @Test(arguments: [nil, SiteContext.crossSite, .crossSiteNavigation])
    func theOriginOfAnotherPageIsNotRecorded(_ context: SiteContext?) throws {
        var request = try Request(.get, url: "https://a.example/")
        request.options.siteContext = context
        try request.move(to: HTTPURL("https://b.example/"), from: request.origin)
        #expect(request.options.originOfPage == nil && request.options.siteContext == context)
    }

    @Test func anUnknownOriginIsTheOriginOfAnotherSite() throws {
        var request = try Request(.get, url: "https://a.example/")
        request.options.siteContext = .sameSite
        try request.move(to: HTTPURL("https://b.example/"), from: nil)
        #expect(request.options.originOfPage == nil && request.options.siteContext == .crossSite)
    }

    @Test func contextsDistinguishRequests() {
        func identity(_ context: SiteContext?) -> RequestOptions.Identity? {
            var options = RequestOptions()
            options.siteContext = context
            return options.identity
        }
        #expect(identity(.crossSite) != identity(.sameSite) && identity(.crossSite) == identity(.crossSite))
        #expect(identity(nil) == RequestOptions().identity)
    }
}
