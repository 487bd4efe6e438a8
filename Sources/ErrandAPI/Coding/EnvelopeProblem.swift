internal import ErrandCore

/// The problem of a body that can't be read by the envelope of the client.
enum EnvelopeProblem: Error {
    /// The data is missing, and the output is not optional.
    case missingData(path: [String])
    /// The body is not the envelope.
    case notAnEnvelope(any ResponseEnvelope.Type, DecodingError)
}
