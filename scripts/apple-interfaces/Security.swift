// What ErrandURLSession uses of Security, and of Foundation beside it, on Apple's platforms. Declared from memory, for type-checking alone:
// see scripts/check-apple.

import Foundation
import FoundationNetworking

// From memory. On Apple's platforms, these types are bridged from types of Foundation. Linux has no bridges, so they are these types here.
public typealias CFData = Data
public typealias CFArray = [Any]
public typealias CFString = String
// From memory.
public final class CFError {}
public func CFErrorCopyDescription(_ error: CFError) -> CFString { "" }

// From memory.
public typealias OSStatus = Int32
public let errSecSuccess: OSStatus = 0

// From memory.
public final class SecTrust {}
// From memory: https://developer.apple.com/documentation/security/seccertificate
public final class SecCertificate {}
// From memory.
public final class CFAllocator: Sendable {}

// From memory: https://developer.apple.com/documentation/security/seccertificatecreatewithdata(_:_:)
public func SecCertificateCreateWithData(_ allocator: CFAllocator?, _ data: CFData) -> SecCertificate? { nil }
// From memory: https://developer.apple.com/documentation/security/seccertificatecopydata(_:)
public func SecCertificateCopyData(_ certificate: SecCertificate) -> CFData { Data() }
// From memory: https://developer.apple.com/documentation/security/sectrustsetanchorcertificates(_:_:)
public func SecTrustSetAnchorCertificates(_ trust: SecTrust, _ certificates: CFArray?) -> OSStatus { 0 }
// From memory: https://developer.apple.com/documentation/security/sectrustsetanchorcertificatesonly(_:_:)
public func SecTrustSetAnchorCertificatesOnly(_ trust: SecTrust, _ only: Bool) -> OSStatus { 0 }
// From memory: https://developer.apple.com/documentation/security/sectrustevaluatewitherror(_:_:)
public func SecTrustEvaluateWithError(_ trust: SecTrust, _ error: UnsafeMutablePointer<CFError?>?) -> Bool { false }
// From memory: https://developer.apple.com/documentation/security/sectrustcopycertificatechain(_:)
public func SecTrustCopyCertificateChain(_ trust: SecTrust) -> CFArray? { nil }

// From memory: https://developer.apple.com/documentation/security/tls_protocol_version_t
public struct tls_protocol_version_t: Sendable {
    public static let TLSv12 = tls_protocol_version_t()
    public static let TLSv13 = tls_protocol_version_t()
}

extension URLProtectionSpace {
    // From memory: https://developer.apple.com/documentation/foundation/urlprotectionspace/servertrust
    public var serverTrust: SecTrust? { nil }
}

extension URLCredential {
    // From memory: https://developer.apple.com/documentation/foundation/urlcredential/init(trust:)
    public convenience init(trust: SecTrust) { self.init(user: "", password: "", persistence: .none) }
}

extension URLRequest {
    // From memory: https://developer.apple.com/documentation/foundation/urlrequest/allowsexpensivenetworkaccess
    public var allowsExpensiveNetworkAccess: Bool { get { true } set {} }
    // From memory: https://developer.apple.com/documentation/foundation/urlrequest/allowsconstrainednetworkaccess
    public var allowsConstrainedNetworkAccess: Bool { get { true } set {} }
}

extension URLSessionConfiguration {
    // From memory: https://developer.apple.com/documentation/foundation/urlsessionconfiguration/waitsforconnectivity
    public var waitsForConnectivity: Bool { get { false } set {} }
    // From memory: https://developer.apple.com/documentation/foundation/urlsessionconfiguration/tlsminimumsupportedprotocolversion
    public var tlsMinimumSupportedProtocolVersion: tls_protocol_version_t { get { .TLSv12 } set {} }
}
