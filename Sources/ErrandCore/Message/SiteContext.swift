/// The site from which an app makes a request, for the attribute `SameSite` of cookies
/// ([RFC 6265bis, section 5.2](https://datatracker.ietf.org/doc/html/draft-ietf-httpbis-rfc6265bis#section-5.2)).
///
/// An app that shows pages of other sites, such as a browser, sets the context. In all other apps, every request counts as a
/// same-site request.
package enum SiteContext: Sendable, Hashable, CaseIterable {
    /// The request is made by a page of the target's site. Every cookie may be sent.
    case sameSite
    /// The request is made by a page of another site. Only cookies with `SameSite=None` may be sent.
    case crossSite
    /// A person follows a link or sends a form from a page of another site, and the response replaces the page. Cookies with
    /// `SameSite=Lax` may be sent too, if the method of the request is safe.
    case crossSiteNavigation
}

/// Without the context, a redirect to another site would be treated as a same-site request.
private enum SiteContextKey: CrossOriginOptionKey {
    static var defaultValue: SiteContext? { nil }
}

extension RequestOptions {
    /// The site from which the request is made. With `nil`, the default, the app itself makes the request, which is treated as
    /// a same-site request.
    package var siteContext: SiteContext? {
        get { self[SiteContextKey.self] }
        set { self[SiteContextKey.self] = newValue }
    }
}
