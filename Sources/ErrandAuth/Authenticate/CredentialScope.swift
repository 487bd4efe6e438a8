#if Auth
internal import ErrandCore

/// The rule that decides which requests may carry credentials.
struct CredentialScope: Sendable {
    /// The only origins that get credentials. `nil` allows any origin that the app's request names.
    let origins: Set<Origin>?

    /// Returns whether a request may carry credentials. If `origins` is set, the request's origin must be in the list. If `origins` is
    /// `nil`, the request's origin must not come from a redirect or from a foreign URL. If `hsts` has changed the scheme from `http` to
    /// `https`, the `http` origin in the list is enough, because `https` is safer.
    func includes(_ request: Request) -> Bool {
        guard let origins else { return !request.options.hasLeftOrigin }
        func isListed(_ origin: Origin?) -> Bool { origin.map { origins.contains($0) } ?? false }
        return isListed(request.origin) || isListed(request.originBeforeHTTPS)
    }
}
#endif
