import Errand
import HTTPTypes

/// Adds the texts of `--cookie` to the cookies of the jar, as curl does. The place is inside `cookies`. A redirect to another origin
/// removes the texts.
struct GivenCookies: HTTPMiddleware {
    func send(_ request: Request, to next: some HTTPSender) async throws -> Response {
        guard let text = request.options.givenCookies else { return try await next.send(request) }
        var carrying = request
        var octets: [UInt8] = []
        for field in request.head.headerFields where field.name == .cookie {
            field.withUnsafeBytesOfValue { octets += Array($0) + Array("; ".utf8) }
        }
        carrying.head.headerFields[.cookie] = nil
        // The subscript of the fields would make a separate field of each pair.
        carrying.head.headerFields.append(HTTPField(name: .cookie, value: octets + Array(text.utf8)))
        return try await next.send(carrying)
    }
}

private enum GivenCookiesKey: OptionKey {
    static var defaultValue: String? { nil }
}

extension RequestOptions {
    /// The texts of `--cookie`, if the request also carries the cookies of a jar.
    var givenCookies: String? {
        get { self[GivenCookiesKey.self] }
        set { self[GivenCookiesKey.self] = newValue }
    }
}
