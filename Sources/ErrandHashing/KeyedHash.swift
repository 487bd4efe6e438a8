#if Crypto
internal import Crypto

/// A message authentication code that uses a shared secret: HMAC ([RFC 2104](https://www.rfc-editor.org/rfc/rfc2104)).
package enum KeyedHash: Sendable, Hashable, CaseIterable {
    /// HMAC with SHA-256: 32 octets.
    case hmacSHA256

    /// Returns the code of a message.
    ///
    /// - Parameters:
    ///   - message: the octets of the message.
    ///   - key: the octets of the secret, of any length.
    package func code(of message: some Sequence<UInt8>, key: some Sequence<UInt8>) -> [UInt8] {
        let (message, key) = (Array(message), SymmetricKey(data: Array(key)))
        return switch self {
        case .hmacSHA256: Array(HMAC<SHA256>.authenticationCode(for: message, using: key))
        }
    }
}
#endif
