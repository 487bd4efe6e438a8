#if Auth
internal import ErrandCore

/// Which requests may carry credentials.
struct CredentialScope: Sendable {
    /// The only origins that get them; `nil` for each that a request names itself.
    let origins: Set<Origin>?

    /// Whether a request may carry credentials: its origin is listed, or, without a list, no redirect and no foreign URL has led it there.
    func includes(_ request: Request) -> Bool {
        guard let origins else { return !request.options.hasLeftOrigin }
        return request.origin.map { origins.contains($0) } ?? false
    }
}
#endif
