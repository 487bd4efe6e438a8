internal import Foundation

/// The certificates that the system gives with a server's challenge.
protocol TrustEvaluation {
    /// Validates the chain, its dates and the name of the host. Returns the reason for a refusal; `nil` if the server is trusted.
    ///
    /// - Parameter roots: the certificates of additional trusted authorities, in DER.
    func refusal(trusting roots: [Data]) -> String?
    /// The chain in DER. The server's own certificate is first. After a successful validation, the chain ends with the root.
    var certificates: [Data] { get }
    /// Returns the SHA-256 hash of bytes.
    func sha256(_ bytes: Data) -> [UInt8]
}
