internal import ErrandCore
internal import ErrandFormats

/// The envelope of the bodies of a call, with its coding.
struct EnvelopeReader: Sendable {
    let envelope: any ResponseEnvelope.Type
    let coding: JSONCoding
    /// The reader for observers, which report the error of the back end regardless of the status. The request of a call carries this
    /// reader.
    let forObservers: ServiceErrorReader

    init(envelope: any ResponseEnvelope.Type, coding: JSONCoding) {
        (self.envelope, self.coding) = (envelope, coding)
        forObservers = ServiceErrorReader { envelope.failure(in: $0, coding) }
    }

    /// The largest body that is searched for an error of the back end if the output is the body itself: 64 KiB.
    static let limitBytes = 64 * 1024

    /// Returns the error that a body describes. `nil` if the body describes no error or is not the envelope.
    func failure(in data: Data) -> ServiceError? { envelope.failure(in: data, coding) }

    /// Returns the error that the body describes, if the body is the output itself. Only JSON of at most 64 KiB is read.
    func failure(inOutput data: Data, _ head: HTTPResponse) -> ServiceError? {
        Self.failure(inOutput: data, head, envelope, coding)
    }

    /// Returns the result of ``failure(inOutput:_:)`` without a reader.
    static func failure(
        inOutput data: Data, _ head: HTTPResponse, _ envelope: any ResponseEnvelope.Type, _ coding: JSONCoding
    ) -> ServiceError? {
        head.isJSON && data.count <= limitBytes ? envelope.failure(in: data, coding) : nil
    }
}

/// Passes on a body unchanged, but fails if a body of at most 64 KiB has an error in the client's envelope.
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
