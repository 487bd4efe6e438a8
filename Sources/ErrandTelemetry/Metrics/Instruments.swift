#if Telemetry
internal import ErrandCore
internal import Metrics

/// The instruments of a stack. Each set of attributes has its own instruments, which are created only once.
final class Instruments: Sendable {
    private struct Key: Hashable {
        /// The server whose requests are counted.
        enum Server: Hashable {
            /// The origin of the server; `nil` for requests without a server.
            case origin(Origin?)
            /// All servers beyond ``seriesLimit``.
            case others
        }

        let method: String
        let server: Server
        let template: String?

        var origin: Origin? {
            if case .origin(let origin) = server { origin } else { nil }
        }
    }

    /// The maximum number of series. Backends never remove a series. Servers beyond this number are counted together, so that a server
    /// can't create more series by redirects to new names.
    static let seriesLimit = 1_000
    /// The `server.address` of servers beyond the limit.
    static let otherServers = "_OTHER"

    private let attributes: MetricsMiddleware.Attributes
    private let knownMethods: Set<HTTPRequest.Method>
    private let openConnections: (@Sendable (Origin) -> MetricsMiddleware.ConnectionCount?)?
    private let table: InstrumentTable<Key, Series>

    init(
        factory: (any MetricsFactory)?, attributes: MetricsMiddleware.Attributes, knownMethods: Set<HTTPRequest.Method>,
        openConnections: (@Sendable (Origin) -> MetricsMiddleware.ConnectionCount?)?
    ) {
        (self.attributes, self.knownMethods, self.openConnections) = (attributes, knownMethods, openConnections)
        table = InstrumentTable(limit: Self.seriesLimit, factory: factory)
    }

    func series(of request: Request) -> Series {
        let key = Key(
            method: Conventions.method(request.method, isKnown: knownMethods.contains(request.method)),
            server: .origin(Conventions.server(of: request)),
            template: attributes.contains(.urlTemplate) ? request.options.urlTemplate : nil)
        // The key of a common series has a method, but no server. There are only a few methods, so the number of common series is small.
        return table.instrument(of: key, orBeyondLimit: Key(method: key.method, server: .others, template: nil), make: make)
    }

    /// Updates the gauges after a connection to an origin has closed.
    func updateConnections(of origin: Origin) {
        for series in table.instruments(where: { $0.origin == origin }) { series.updateConnections() }
    }

    private func make(_ key: Key, by factory: any MetricsFactory) -> Series {
        let server: [(String, String)] =
            switch key.server {
            case .others: [("server.address", Self.otherServers)]
            case .origin(nil): []
            case .origin(let origin?): [("server.address", Conventions.address(of: origin)), ("server.port", "\(origin.effectivePort)")]
            }
        let scheme = key.origin.map { [("url.scheme", $0.scheme)] } ?? []
        let common = [("http.request.method", key.method)] + server + (key.template.map { [("url.template", $0)] } ?? [])
        let hasScheme = attributes.contains(.urlScheme)
        return Series(
            factory: factory, dimensions: common + (hasScheme ? scheme : []),
            active: Meter(label: "http.client.active_requests", dimensions: common + scheme, factory: factory),
            connections: openConnections.flatMap { count in
                key.origin.map { ($0, count) }
            }.map { origin, count in
                ConnectionMeters(origin: origin, dimensions: server + (hasScheme ? scheme : []), factory: factory, count: count)
            })
    }
}

/// The instruments for one method and server.
final class Series: Sendable {
    /// The outcome of an attempt.
    struct Outcome: Hashable {
        /// The status code; `nil` if no head was received.
        var status: Int?
        /// The value of `error.type`; `nil` if the attempt succeeded, or if its caller was cancelled.
        var errorType: String?
        /// The version of HTTP; `nil` if it is not known.
        var version: HTTPVersion?

        fileprivate var dimensions: [(String, String)] {
            [
                ("http.response.status_code", status.map(String.init)), ("error.type", errorType),
                ("network.protocol.version", version?.number),
            ]
            .compactMap { name, value in value.map { (name, $0) } }
        }
    }

    private struct Key: Hashable {
        let label: String
        let outcome: Outcome
    }

    /// The maximum number of instruments, without the common instruments. The limit is necessary, because a server chooses its
    /// statuses. Outcomes beyond this number are counted in two groups: successes and failures.
    static let outcomeLimit = 100

    let active: Meter
    private let dimensions: [(String, String)]
    private let connections: ConnectionMeters?
    private let recorders: InstrumentTable<Key, Recorder>

    init(factory: any MetricsFactory, dimensions: [(String, String)], active: Meter, connections: ConnectionMeters?) {
        self.dimensions = dimensions
        self.active = active
        self.connections = connections
        recorders = InstrumentTable(limit: Self.outcomeLimit, factory: factory)
    }

    /// Records the end of an attempt.
    func end(_ outcome: Outcome, after elapsed: Duration) {
        active.decrement()
        recorder("http.client.request.duration", outcome).record(elapsed / .seconds(1))
        updateConnections()
    }

    func updateConnections() { connections?.update() }

    /// Records the sizes of both bodies.
    ///
    /// - Parameters:
    ///   - requestBytes: the size of the request's body; `nil` if there was no body, or the size is not known.
    ///   - responseBytes: the size of the response's body; `nil` if the size is not known.
    ///   - outcome: the outcome of the attempt.
    func recordSizes(_ requestBytes: Int64?, _ responseBytes: Int64?, of outcome: Outcome) {
        if let requestBytes { recorder("http.client.request.body.size", outcome).record(requestBytes) }
        if let responseBytes { recorder("http.client.response.body.size", outcome).record(responseBytes) }
    }

    private func recorder(_ label: String, _ outcome: Outcome) -> Recorder {
        // The common key still shows whether the outcome was a success.
        let common = Outcome(errorType: outcome.errorType == nil ? nil : Instruments.otherServers)
        return recorders.instrument(of: Key(label: label, outcome: outcome), orBeyondLimit: Key(label: label, outcome: common)) {
            Recorder(label: label, dimensions: dimensions + $0.outcome.dimensions, aggregate: true, factory: $1)
        }
    }
}

/// The gauges of the open connections to one origin. A closure returns the numbers of connections.
struct ConnectionMeters: Sendable {
    private let origin: Origin
    private let count: @Sendable (Origin) -> MetricsMiddleware.ConnectionCount?
    private let active: Meter
    private let idle: Meter

    init(
        origin: Origin, dimensions: [(String, String)], factory: any MetricsFactory,
        count: @escaping @Sendable (Origin) -> MetricsMiddleware.ConnectionCount?
    ) {
        func meter(_ state: String) -> Meter {
            Meter(label: "http.client.open_connections", dimensions: dimensions + [("http.connection.state", state)], factory: factory)
        }
        self.origin = origin
        self.count = count
        active = meter("active")
        idle = meter("idle")
    }

    func update() {
        guard let count = count(origin) else { return }
        active.set(count.active)
        idle.set(count.idle)
    }
}
#endif
