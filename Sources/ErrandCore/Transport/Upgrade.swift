/// A request to change the protocol of a connection: `Upgrade` in HTTP/1.1
/// ([RFC 9110, section 7.8](https://www.rfc-editor.org/rfc/rfc9110#section-7.8)), extended CONNECT in HTTP/2
/// ([RFC 8441](https://www.rfc-editor.org/rfc/rfc8441)).
package struct UpgradeRequest: Sendable, Hashable {
    /// The name of the protocol, such as `websocket`.
    package var protocolName: String

    package init(protocolName: String) { self.protocolName = protocolName }
}

/// A stream of bytes in both directions, over a connection with a changed protocol.
package protocol DuplexStream: Sendable {
    /// The bytes that the other side sends, with back-pressure.
    var incoming: any BodySource { get }

    /// Writes `data`, and returns when the stream can accept more data.
    func write(_ data: Data) async throws

    /// Ends writing. The other side may continue to write.
    func finishWriting() async throws

    /// Closes both directions immediately.
    func close()
}
