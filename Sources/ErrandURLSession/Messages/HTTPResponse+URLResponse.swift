public import ErrandCore

#if canImport(FoundationNetworking)
internal import Foundation
public import FoundationNetworking
#else
public import Foundation
#endif

extension HTTPResponse {
    /// Creates the head of a response of `URLSession`. `nil` if the status is not from 100 to 999.
    ///
    /// `URLSession` keeps neither the order of the fields nor their number: `URLSession` joins fields of one name with `, `. This
    /// initializer orders the fields by name, and separates the values of `Set-Cookie`. Invalid names are left out. The inverse is
    /// `HTTPURLResponse(_:url:)`.
    public init?(_ response: HTTPURLResponse) {
        guard (100...999).contains(response.statusCode) else { return nil }
        var fields = HTTPFields()
        let received = response.allHeaderFields.compactMap { name, value in
            (name as? String).flatMap { HTTPField.Name($0) }.map { (name: $0, value: "\(value)") }
        }
        for (name, value) in received.sorted(by: { $0.name.canonicalName.utf8.lexicographicallyPrecedes($1.name.canonicalName.utf8) }) {
            let values = name == .setCookie ? SetCookieFields.separated(value) : [value]
            for value in values { fields.append(HTTPField(name: name, value: value)) }
        }
        self.init(status: Status(code: response.statusCode), headerFields: fields)
    }
}

extension ReceivedHead {
    /// Returns the head for a response of the session. `nil` if the response is not a response of HTTP.
    ///
    /// - Parameter request: the request; `nil` if its exchange has ended.
    init?(_ response: URLResponse, to request: Request?) {
        guard let response = response as? HTTPURLResponse, let head = HTTPResponse(response) else { return nil }
        self.init(head, to: request?.method ?? .get, decoding: SessionAbilities.current.decodedCodings)
    }
}
