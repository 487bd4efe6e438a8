internal import ErrandCore
internal import ErrandFormats

/// The envelope around the bodies of a call, and the JSON coding of the envelope.
struct EnvelopeReader: Sendable {
    let envelope: any ResponseEnvelope.Type
    let coding: JSONCoding
    /// The reader that observers use to report the error of the back end, for a response with any status. The request of a call carries
    /// this reader.
    let forObservers: ServiceErrorReader

    init(envelope: any ResponseEnvelope.Type, coding: JSONCoding) {
        (self.envelope, self.coding) = (envelope, coding)
        forObservers = ServiceErrorReader { envelope.failure(in: $0, coding) }
    }

    /// The largest size of a body in which the reader looks for an error of the back end: 64 KiB. The limit applies if the
    /// output is the body itself.
    static let limitBytes = 64 * 1024

    /// Returns the error that a body describes. `nil` if the body describes no error, or has no envelope.
    func failure(in data: Data) -> ServiceError? { envelope.failure(in: data, coding) }

    /// Returns the error that the body describes. This function is for calls whose output is the body itself. Only JSON of at
    /// most 64 KiB is read.
    func failure(inOutput data: Data, _ head: HTTPResponse) -> ServiceError? {
        Self.failure(inOutput: data, head, envelope, coding)
    }

    /// Returns the same error as ``failure(inOutput:_:)``, but needs no reader.
    static func failure(
        inOutput data: Data, _ head: HTTPResponse, _ envelope: any ResponseEnvelope.Type, _ coding: JSONCoding
    ) -> ServiceError? {
        head.isJSON && data.count <= limitBytes ? envelope.failure(in: data, coding) : nil
    }
}

/// Passes a body on unchanged, but fails if the body has at most 64 KiB and its envelope describes an error.
struct EnvelopeFilter: BodyTransform {
    private let reader: EnvelopeReader
    private var isLonger = false

    init(_ reader: EnvelopeReader) { self.reader = reader }

    mutating func next(_ input: inout Data) -> Data? {
        isLonger = isLonger || input.count > EnvelopeReader.limitBytes
        guard isLonger, !input.isEmpty else { return nil }
        return take(&input)
    }

    mutating func finish(_ input: inout Data) throws -> Data? {
        if !isLonger, let failure = reader.failure(in: input) { throw failure }
        isLonger = true
        return input.isEmpty ? nil : take(&input)
    }

    private func take(_ input: inout Data) -> Data {
        defer { input = input.dropFirst(EnvelopeReader.limitBytes) }
        return input.prefix(EnvelopeReader.limitBytes)
    }
}
