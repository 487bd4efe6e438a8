internal import ErrandCore

/// A body that is not in the client's envelope, as it should be.
enum EnvelopeProblem: Error {
    /// There is no data for an output that needs some.
    case missingData(path: [String])
    /// The body is not the envelope.
    case notAnEnvelope(any ResponseEnvelope.Type, DecodingError)
}
