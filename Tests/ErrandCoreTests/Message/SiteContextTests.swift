import Errand
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
