#if NIO
internal import ErrandCore

/// How far an exchange is, for the error that ends it.
struct ExchangePosition: Sendable, Equatable {
    let phase: ExchangePhase
    let delivery: Delivery
    /// Whether the server may have closed the connection before it saw the request: another exchange used it before, and no byte of
    /// a response was received ([RFC 9112, section 9.3.1](https://www.rfc-editor.org/rfc/rfc9112#section-9.3.1)).
    let mayBeStale: Bool
}
#endif
