#if SWIFT_NIO
internal import ErrandCore

/// The progress of an exchange, for the error that ends the exchange.
struct ExchangePosition: Sendable, Equatable {
    let phase: ExchangePhase
    let delivery: Delivery
    /// Whether the server may have closed the connection before the server saw the request. Such a close is possible if another
    /// exchange used the connection before, and no byte of a response was received ([RFC 9112, section
    /// 9.3.1](https://www.rfc-editor.org/rfc/rfc9112#section-9.3.1)).
    let mayBeStale: Bool
}
#endif
