public import ErrandCore

#if canImport(FoundationNetworking)
internal import Foundation
public import FoundationNetworking
#else
public import Foundation
#endif

extension HTTPURLResponse {
    /// Creates a response of Foundation from the head of a response. `nil` if Foundation refuses the head.
    ///
    /// Foundation keeps one value for each name. The values of fields with the same name are joined with `, `. The order of the fields is
    /// lost. The inverse, `HTTPResponse(_:)`, separates only the values of `Set-Cookie` again. The reason phrase of the status is lost. The
    /// version is always HTTP/1.1, because a head has no version.
    ///
    /// - Parameters:
    ///   - response: the head.
    ///   - url: the URL of the request.
    public convenience init?(_ response: HTTPResponse, url: URL) {
        var fields = JoinedFields()
        for field in response.headerFields { fields.append(field) }
        self.init(url: url, statusCode: response.status.code, httpVersion: "HTTP/1.1", headerFields: fields.joined)
    }
}
