/// The progress of an exchange, for the error that ends the exchange.
package struct ExchangePosition: Sendable, Equatable {
    /// The progress of the request on the wire.
    package enum RequestProgress: Sendable {
        /// No byte was sent.
        case unsent
        case inProgress
        /// The whole request was sent, or the rest will never be sent.
        case over
    }

    /// The progress of the response on the wire.
    package enum ResponseProgress: Sendable {
        case nothing
        /// A part of the head, or an informational response, was received.
        case begun
        /// The whole head was received.
        case body
    }

    package let phase: ExchangePhase
    package let delivery: Delivery
    /// Whether the server may have closed the connection before the server saw the request. An early close is possible if another exchange
    /// used the connection before, and no byte of a response was received ([RFC 9112, section
    /// 9.3.1](https://www.rfc-editor.org/rfc/rfc9112#section-9.3.1)).
    package let mayBeStale: Bool

    package init(phase: ExchangePhase, delivery: Delivery, mayBeStale: Bool = false) {
        (self.phase, self.delivery, self.mayBeStale) = (phase, delivery, mayBeStale)
    }

    /// Creates the position of an exchange on a connection.
    package init(_ request: RequestProgress, _ response: ResponseProgress, mayBeStale: Bool = false) {
        switch (request, response) {
        case (.unsent, _): self.init(phase: .send, delivery: .notSent, mayBeStale: mayBeStale)
        case (_, .body): self.init(phase: .body, delivery: .sent)
        case (.inProgress, .nothing): self.init(phase: .send, delivery: .unknown, mayBeStale: mayBeStale)
        case (_, .begun), (.over, .nothing): self.init(phase: .response, delivery: .unknown, mayBeStale: mayBeStale)
        }
    }
}
