internal import ErrandCore
internal import ErrandURLSession
internal import Foundation

#if canImport(FoundationNetworking)
internal import FoundationNetworking
#endif

extension HTTPURLResponse {
    /// Creates the response that a session reports for a response of a stub. `nil` if Foundation refuses the head.
    ///
    /// Fields of one name are joined, as `URLSession` does. If the length of the body is known, the response declares the length.
    convenience init?(_ response: Response, to url: URL) {
        var head = response.head
        let declares = head.headerFields.contains(.contentLength) || head.headerFields.contains(.transferEncoding)
        if !declares, let length = response.body.expectedLength { head.headerFields[.contentLength] = "\(length)" }
        #if canImport(FoundationNetworking) && !ERRAND_APPLE_CHECK
        // On Linux, a session that receives a challenge from a protocol class waits forever, or ends the process. Without this field, the
        // session sees no challenge.
        if head.status == .unauthorized { head.headerFields[.wwwAuthenticate] = nil }
        #endif
        self.init(head, url: url)
    }
}
