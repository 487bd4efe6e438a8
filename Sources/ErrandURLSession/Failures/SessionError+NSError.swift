internal import Foundation

#if canImport(FoundationNetworking)
internal import FoundationNetworking
#endif
#if ERRAND_APPLE_CHECK
internal import AppleFoundation
#endif

extension SessionError {
    /// The maximum number of errors that are read: the error and its underlying errors.
    private static let depth = 8

    /// Reads the numbers of an error that a session has reported, and of its underlying errors.
    init(_ error: any Error) {
        self.init()
        var next: NSError? = error as NSError
        for level in 0..<Self.depth {
            guard let current = next else { break }
            switch current.domain {
            case NSURLErrorDomain: number = number ?? current.code
            case NSPOSIXErrorDomain: systemNumber = systemNumber ?? Int32(clamping: current.code)
            case Self.networkDomain: networkNumber = networkNumber ?? current.code
            default: if level == 0 { other = "\(current.domain) \(current.code)" }
            }
            next = current.userInfo[NSUnderlyingErrorKey] as? NSError
        }
        #if !canImport(FoundationNetworking) || ERRAND_APPLE_CHECK
        isDeniedNetwork = (error as? URLError)?.networkUnavailableReason != nil
        #endif
    }

    /// The domain of CFNetwork. On Linux, no error has this domain.
    private static let networkDomain = "kCFErrorDomainCFNetwork"
}
