internal import ErrandFormats

extension HTTPResponse {
    /// Whether the media type of the body is JSON.
    package var isJSON: Bool { headerFields.single(.contentType).flatMap { MediaType($0) }?.isJSON == true }

    /// Returns a body as text, decoded by the `charset` of `Content-Type`. If the charset is missing or unknown, the body is decoded as
    /// UTF-8.
    package func text(of data: Data) -> String {
        let type = headerFields.single(.contentType).flatMap { MediaType($0) }
        guard let charset = Charset(named: type?[parameter: "charset"]) else { return String(decoding: data, as: UTF8.self) }
        return charset.decode(Array(data))
    }
}
