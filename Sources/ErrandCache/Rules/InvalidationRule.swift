internal import ErrandCore

/// Decides which stored responses a response to an unsafe request invalidates
/// ([RFC 9111, section 4.4](https://www.rfc-editor.org/rfc/rfc9111#section-4.4)).
enum InvalidationRule {
    /// Returns the URLs whose stored responses are invalid: the URL of the request, and the URLs of the same origin in `Location` and
    /// `Content-Location`. Empty if the method is safe, or the response is an error.
    static func urls(invalidatedBy response: HTTPResponse, to request: CacheRequest) -> [HTTPURL] {
        guard !request.method.isSafe, request.method != .trace, (200..<400).contains(response.status.code) else { return [] }
        var urls = [request.url]
        for name in [HTTPField.Name.location, .contentLocation] {
            guard let url = url(in: name, of: response, to: request.url), url.origin == request.url.origin, !urls.contains(url) else {
                continue
            }
            urls.append(url)
        }
        return urls
    }

    /// Returns the URL in a field; `nil` if the field is missing or invalid.
    static func url(in name: HTTPField.Name, of response: HTTPResponse, to requestURL: HTTPURL) -> HTTPURL? {
        guard let field = response.headerFields[fields: name].first,
            let reference = try? URLReference(received: field.valuePreservingURLs)
        else { return nil }
        guard let url = try? HTTPURL(reference.resolved(against: URLReference(requestURL))) else { return nil }
        return url
    }
}
