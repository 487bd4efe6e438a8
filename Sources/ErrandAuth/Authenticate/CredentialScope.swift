#if Auth
internal import ErrandCore

/// The rule for which requests may carry credentials.
struct CredentialScope: Sendable {
    /// The only origins that get credentials; `nil` for each origin that a request names itself.
    let origins: Set<Origin>?

    /// Whether a request may carry credentials. With a list, the origin must be in the list. Without a list, the origin must not
    /// come from a redirect or from a foreign URL.
    func includes(_ request: Request) -> Bool {
        guard let origins else { return !request.options.hasLeftOrigin }
        return request.origin.map { origins.contains($0) } ?? false
    }
}
#endif
