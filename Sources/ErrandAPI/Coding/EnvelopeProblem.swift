internal import ErrandCore

/// The problem with a body that the client's envelope can't read.
enum EnvelopeProblem: Error {
    /// The data is missing, and the output is not optional.
    case missingData(path: [String])
    /// The body does not have the form of the envelope.
    case notAnEnvelope(any ResponseEnvelope.Type, DecodingError)
}
