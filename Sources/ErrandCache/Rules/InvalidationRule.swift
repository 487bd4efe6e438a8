internal import ErrandCore

/// Decides which stored responses a response to an unsafe request invalidates
/// ([RFC 9111, section 4.4](https://www.rfc-editor.org/rfc/rfc9111#section-4.4)).
enum InvalidationRule {
    /// Returns the URLs whose stored responses are invalid: the URL of the request, and the URLs of the same origin in `Location` and
    /// `Content-Location`. Empty if the method is safe, or the status is not 2xx or 3xx.
    static func urls(invalidatedBy response: HTTPResponse, to request: CacheRequest) -> [HTTPURL] {
        guard isInvalidating(response, to: request) else { return [] }
        var urls = [request.url]
        for name in [HTTPField.Name.location, .contentLocation] {
            guard let url = url(in: name, of: response, to: request.url), url.origin == request.url.origin, !urls.contains(url) else {
                continue
            }
            urls.append(url)
        }
        return urls
    }

    /// Returns the groups whose stored responses of the request's origin are invalid
    /// ([RFC 9875, section 3](https://www.rfc-editor.org/rfc/rfc9875#section-3)).
    static func groups(invalidatedBy response: HTTPResponse, to request: CacheRequest) -> [String] {
        isInvalidating(response, to: request) ? CacheGroups.invalidated(by: response.headerFields) : []
    }

    /// Returns the origin whose stored responses the field `Clear-Site-Data` removes; `nil` if the field is missing, or the URL does not
    /// use `https` ([W3C, Clear Site Data](https://www.w3.org/TR/clear-site-data/#header)).
    static func origin(clearedBy response: HTTPResponse, to request: CacheRequest) -> Origin? {
        let values = response.headerFields[values: .clearSiteData]
        guard !values.isEmpty, request.url.scheme.isExactly("https"), ClearSiteData.includesCache(values) else { return nil }
        return request.url.origin
    }

    private static func isInvalidating(_ response: HTTPResponse, to request: CacheRequest) -> Bool {
        !request.method.isSafe && request.method != .trace && (200..<400).contains(response.status.code)
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
