#if Auth
public import ErrandCore

extension TokenSource {
    /// Creates a source that refreshes its token by OAuth 2.
    ///
    /// - Parameters:
    ///   - client: the client that refreshes the token.
    ///   - store: the store that keeps the token between runs. `nil`, the default: the token is kept in memory only.
    ///   - account: the name under which caches and cookie jars keep the account's data. `nil`, the default: the data is kept in memory
    ///     only.
    ///   - policy: the time and the rate of refreshes.
    public convenience init(
        _ client: OAuthClient, store: (any TokenStore)? = nil, account: String? = nil, policy: RefreshPolicy = .standard
    ) {
        self.init(nil, store: store, account: account, policy: policy, now: { client.date }) { try await client.refresh($0) }
    }

    /// Creates a source for a client that obtains each token with the client's own credentials.
    ///
    /// - Parameters:
    ///   - client: the client that obtains the tokens.
    ///   - scopes: the scopes that the tokens must have.
    ///   - parameters: further parameters, such as `audience`.
    ///   - store: the store that keeps the token between runs. `nil`, the default: the token is kept in memory only.
    ///   - account: the name under which caches and cookie jars keep the account's data. `nil`, the default: the data is kept in memory
    ///     only.
    ///   - policy: the time and the rate at which tokens are replaced.
    public convenience init(
        clientCredentials client: OAuthClient, scopes: [String] = [], parameters: URLQuery = URLQuery(), store: (any TokenStore)? = nil,
        account: String? = nil, policy: RefreshPolicy = .standard
    ) {
        self.init(
            nil, store: store, account: account, policy: policy, obtainsWithoutToken: true, isFinal: Self.isFinalRefreshError,
            now: { client.date }, random: { .random(in: 0..<1) }, executor: nil
        ) { _ in try await client.clientCredentials(scopes: scopes, parameters: parameters) }
    }
}
#endif
