/// The site from which an app makes a request, for the attribute `SameSite` of cookies
/// ([RFC 6265bis, section 5.2](https://datatracker.ietf.org/doc/html/draft-ietf-httpbis-rfc6265bis#section-5.2)).
///
/// ```swift
/// request.options.siteContext = .crossSite
/// ```
///
/// In this example, the request is for a picture on a page of another site.
///
/// An app that shows pages of other sites, such as a browser, sets the context. In all other apps, every request counts as a
/// same-site request. Two origins belong to one site if their schemes are equal, and their hosts have the same registrable domain, such
/// as `example.co.uk`.
///
/// `SameSite` also decides which cookies of a response are stored: in the context ``crossSite``, only cookies with `SameSite=None`. A
/// cookie without the attribute is treated as `SameSite=Lax`.
public enum SiteContext: Sendable, Hashable, CaseIterable {
    /// The request is made by a page of the target's site. `SameSite` excludes no cookie.
    ///
    /// If a redirect leads to another site, the next request is treated as ``crossSite``.
    case sameSite
    /// The request is made by a page of another site. Only cookies with `SameSite=None` may be sent.
    case crossSite
    /// A person follows a link or sends a form from a page of another site, and the response replaces the page. Cookies with
    /// `SameSite=Lax` may be sent too, if the method of the request is safe.
    case crossSiteNavigation
}

/// The context crosses origins. If a redirect to another origin removed the context, the next request would be treated as a same-site
/// request.
private enum SiteContextKey: CrossOriginOptionKey {
    static var defaultValue: SiteContext? { nil }
}

/// The identity ignores the origin. Only the layer of cookies reads the origin, and this layer is outside `coalesce`.
private enum OriginOfPageKey: CrossOriginOptionKey {
    static var defaultValue: Origin? { nil }
    static func identity(of value: Origin?) -> OptionIdentity { .ignored }
}

extension RequestOptions {
    /// The site from which the request is made. With `nil`, the default, the app itself makes the request, which is treated as
    /// a same-site request.
    public var siteContext: SiteContext? {
        get { self[SiteContextKey.self] }
        set { self[SiteContextKey.self] = newValue }
    }

    /// The first origin of a request with the context ``SiteContext/sameSite``, if a response has led to another origin. `nil` if the
    /// request still has its first origin.
    package var originOfPage: Origin? {
        get { self[OriginOfPageKey.self] }
        set { self[OriginOfPageKey.self] = newValue }
    }

    /// Records the origin of the page that makes the request, before the request leaves this origin.
    ///
    /// - Parameter origin: the origin that the request leaves; `nil` if the origin is not known.
    mutating func recordOriginOfPage(_ origin: Origin?) {
        guard siteContext == .sameSite, originOfPage == nil else { return }
        if origin == nil { siteContext = .crossSite } else { originOfPage = origin }
    }
}
