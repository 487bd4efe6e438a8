/// A request to change the protocol: `Upgrade` in HTTP/1.1 ([RFC 9110, section 7.8](https://www.rfc-editor.org/rfc/rfc9110#section-7.8)),
/// extended CONNECT in HTTP/2 ([RFC 8441](https://www.rfc-editor.org/rfc/rfc8441)).
package struct UpgradeRequest: Sendable, Hashable {
    /// The name of the protocol, such as `websocket`.
    package var protocolName: String

    package init(protocolName: String) { self.protocolName = protocolName }
}

/// A stream of bytes in both directions, over a connection whose protocol was changed.
package protocol DuplexStream: Sendable {
    /// The bytes that the other side sends, with back-pressure.
    var incoming: any BodySource { get }

    /// Writes `data`. Returns when there is room for more.
    func write(_ data: Data) async throws

    /// Ends writing; the other side may continue.
    func finishWriting() async throws

    /// Closes both directions immediately.
    func close()
}
