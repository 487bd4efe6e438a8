internal import Foundation

#if canImport(FoundationNetworking)
internal import FoundationNetworking
#endif

/// A challenge with a server's certificates, which waits for a reply.
struct TrustChallenge: Sendable {
    /// The credential for an accepted server.
    let credential: URLCredential
    let complete: @Sendable (URLSession.AuthChallengeDisposition, URLCredential?) -> Void

    func reply(_ reply: SessionExchange.Machine.TrustReply) {
        switch reply {
        case .performDefaultHandling: complete(.performDefaultHandling, nil)
        case .accept: complete(.useCredential, credential)
        case .cancel: complete(.cancelAuthenticationChallenge, nil)
        }
    }
}
