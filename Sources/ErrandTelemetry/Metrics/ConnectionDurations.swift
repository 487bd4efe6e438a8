#if Telemetry
internal import ErrandCore
internal import Metrics
internal import Synchronization

/// The instruments of `http.client.connection.duration`. A transport holds this object. Therefore the object must not hold a transport.
final class ConnectionDurations: Sendable {
    /// The attributes of an instrument.
    private struct Key: Hashable {
        /// The origin; `nil` for all origins beyond the limit of series.
        var origin: Origin?
        var peerAddress: String?
        let httpVersion: HTTPVersion
    }

    private struct State {
        var factory: (any MetricsFactory)?
        var recorders: [Key: Recorder] = [:]
    }

    private let hasScheme: Bool
    private let state: Mutex<State>
    /// The name of the observer. Observers with the same factory have the same name, so that no connection is recorded twice.
    let id: String

    init(factory: (any MetricsFactory)?, attributes: MetricsMiddleware.Attributes) {
        hasScheme = attributes.contains(.urlScheme)
        state = Mutex(State(factory: factory))
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
        let (known, factory, isFull) = state.withLock { state -> (Recorder?, any MetricsFactory, Bool) in
            let factory = state.factory ?? MetricsSystem.factory
            state.factory = factory
            return (state.recorders[key], factory, state.recorders.count >= Instruments.seriesLimit)
        }
        if let known { return known }
        let kept = isFull ? Key(origin: nil, peerAddress: nil, httpVersion: closed.httpVersion) : key
        let made = Recorder(
            label: "http.client.connection.duration", dimensions: dimensions(of: kept), aggregate: true, factory: factory)
        return state.withLock { state in
            if let known = state.recorders[kept] { return known }
            state.recorders[kept] = made
            return made
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
