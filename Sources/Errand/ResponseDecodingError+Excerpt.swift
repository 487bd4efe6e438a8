public import ErrandAPI
internal import ErrandCore
internal import ErrandRedaction

extension ResponseDecodingError: CustomDebugStringConvertible {
    /// The ``/ErrandAPI/ResponseDecodingError/description``, and the first 200 bytes of the body without secrets:
    /// `…; body: {"error":"no such user"}`.
    ///
    /// The bytes are shown by the same rules as for ``/ErrandCore/StatusError``. Debuggers and `String(reflecting:)` show this text.
    /// The description and the texts for people never show the body.
    public var debugDescription: String {
        let excerpt = BodyText.excerpt(
            of: bodyPrefix, isWhole: bodyIsWhole, contentType: bodyType, sensitivity: request?.options.sensitivity ?? .standard,
            secretsOf: [request].compactMap { $0 }, advice: StatusError.adviceOnHiddenBody)
        return description + (excerpt.map { "; body: \($0)" } ?? "")
    }
}
