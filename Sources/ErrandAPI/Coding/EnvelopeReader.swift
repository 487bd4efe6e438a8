internal import ErrandCore
internal import ErrandFormats

/// The envelope of the bodies of a call, and how it is read.
struct EnvelopeReader: Sendable {
    let envelope: any ResponseEnvelope.Type
    let coding: JSONCoding
    /// For the request of a call: observers report the back end's error whatever the status is.
    let forObservers: ServiceErrorReader

    init(envelope: any ResponseEnvelope.Type, coding: JSONCoding) {
        (self.envelope, self.coding) = (envelope, coding)
        forObservers = ServiceErrorReader { envelope.failure(in: $0, coding) }
    }

    /// The longest body that is taken for an error of the back end where the output is the body itself: 64 KiB.
    static let limitBytes = 64 * 1024

    /// The error that a body describes; `nil` if it describes none, or is no such envelope.
    func failure(in data: Data) -> ServiceError? { envelope.failure(in: data, coding) }

    /// Returns the error that the body describes, if the body is the output itself. Only JSON of at most 64 KiB is read.
    func failure(inOutput data: Data, _ head: HTTPResponse) -> ServiceError? {
        Self.failure(inOutput: data, head, envelope, coding)
    }

    /// Returns what ``failure(inOutput:_:)`` returns, without a reader.
    static func failure(
        inOutput data: Data, _ head: HTTPResponse, _ envelope: any ResponseEnvelope.Type, _ coding: JSONCoding
    ) -> ServiceError? {
        head.isJSON && data.count <= limitBytes ? envelope.failure(in: data, coding) : nil
    }
}

extension HTTPResponse {
    /// Whether the media type of the body is JSON.
    var isJSON: Bool { headerFields.single(.contentType).flatMap { MediaType($0) }?.isJSON == true }
}

/// Passes a body on, unless it is at most 64 KiB long and has an error in the client's envelope.
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
