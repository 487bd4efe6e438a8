#if Telemetry
internal import ErrandCore
internal import Metrics

/// The instruments of `http.client.connection.duration`. A transport holds this object. Therefore the object must not hold a transport.
final class ConnectionDurations: Sendable {
    /// The attributes of an instrument.
    private struct Key: Hashable {
        /// The origin; `nil` in the key that all origins beyond ``Instruments/seriesLimit`` share.
        var origin: Origin?
        var peerAddress: String?
        let httpVersion: HTTPVersion
    }

    private let hasScheme: Bool
    private let recorders: InstrumentTable<Key, Recorder>
    /// The name of the observer. Observers with the same factory have the same name, so that no connection is recorded twice.
    let id: String

    init(factory: (any MetricsFactory)?, attributes: MetricsMiddleware.Attributes) {
        hasScheme = attributes.contains(.urlScheme)
        recorders = InstrumentTable(limit: Instruments.seriesLimit, factory: factory)
        id = "http.client.connection.duration" + (factory.map { " of \(Self.name(of: $0))" } ?? "")
    }

    private static func name(of factory: any MetricsFactory) -> String {
        // Only an object has an identity that never changes.
        type(of: factory) is AnyClass ? "\(ObjectIdentifier(factory as AnyObject))" : "\(type(of: factory))"
    }

    func record(_ closed: ClosedConnection) {
        recorder(of: closed).record(closed.duration / .seconds(1))
    }

    private func recorder(of closed: ClosedConnection) -> Recorder {
        let key = Key(origin: closed.origin, peerAddress: closed.peerAddress, httpVersion: closed.httpVersion)
        let common = Key(origin: nil, peerAddress: nil, httpVersion: closed.httpVersion)
        return recorders.instrument(of: key, orBeyondLimit: common) {
            Recorder(label: "http.client.connection.duration", dimensions: dimensions(of: $0), aggregate: true, factory: $1)
        }
    }

    private func dimensions(of key: Key) -> [(String, String)] {
        let version = [("network.protocol.version", key.httpVersion.number)]
        guard let origin = key.origin else { return [("server.address", Instruments.otherServers)] + version }
        return [("server.address", Conventions.address(of: origin)), ("server.port", "\(origin.effectivePort)")]
            + (key.peerAddress.map { [("network.peer.address", $0)] } ?? []) + version
            + (hasScheme ? [("url.scheme", origin.scheme)] : [])
    }
}
#endif
