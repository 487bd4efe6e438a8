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
        var passedOn = JoinedFields()
        for field in response.head.headerFields where Self.isPassedOn(field.name, status: response.head.status) { passedOn.append(field) }
        var fields = passedOn.joined
        let declares = response.head.headerFields.contains(.contentLength) || response.head.headerFields.contains(.transferEncoding)
        if !declares, let length = response.body.expectedLength { fields["Content-Length"] = "\(length)" }
        self.init(url: url, statusCode: response.head.status.code, httpVersion: "HTTP/1.1", headerFields: fields)
    }

    /// Returns whether the session gets a field. On Linux, a session that receives a challenge from a protocol class waits forever, or ends
    /// the process. Without the field `WWW-Authenticate`, the session sees no challenge.
    private static func isPassedOn(_ name: HTTPField.Name, status: HTTPResponse.Status) -> Bool {
        #if canImport(FoundationNetworking) && !ERRAND_APPLE_CHECK
        name != .wwwAuthenticate || status != .unauthorized
        #else
        true
        #endif
    }
}
