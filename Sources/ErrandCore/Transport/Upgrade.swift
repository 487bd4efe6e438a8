/// Asks the server to change the protocol: `Upgrade` in HTTP/1.1 (RFC 9110, 7.8), extended CONNECT in HTTP/2 (RFC 8441).
package struct UpgradeRequest: Sendable, Hashable {
    /// The protocol's name, such as `websocket`.
    package var protocolName: String

    package init(protocolName: String) { self.protocolName = protocolName }
}

/// Bytes both ways over a connection whose protocol was changed.
package protocol DuplexStream: Sendable {
    /// What the other side sends, with back-pressure.
    var incoming: any BodySource { get }

    /// Writes `data`; returns when there is room for more.
    func write(_ data: Data) async throws

    /// Says that nothing more will be written; the other side may go on.
    func finishWriting() async throws

    /// Closes both ways at once.
    func close()
}
