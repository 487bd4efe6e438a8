#if Telemetry
internal import ErrandCore
internal import Metrics
internal import Synchronization

/// The instruments of a stack, made once for each set of attributes: a back end need not be asked again.
final class Instruments: Sendable {
    private struct Key: Hashable {
        /// Whose requests are counted.
        enum Server: Hashable {
            /// `nil`: of requests that have none.
            case origin(Origin?)
            /// Of those beyond ``seriesLimit``.
            case others
        }

        let method: String
        let server: Server
        let template: String?

        var origin: Origin? {
            if case .origin(let origin) = server { origin } else { nil }
        }
    }

    private struct State {
        var factory: (any MetricsFactory)?
        var series: [Key: Series] = [:]
    }

    /// Back ends never forget a series. Beyond these, servers are counted together: a server that redirects to ever new names makes no new ones.
    static let seriesLimit = 1_000
    /// `server.address` of those beyond.
    static let otherServers = "_OTHER"

    private let attributes: MetricsMiddleware.Attributes
    private let knownMethods: Set<HTTPRequest.Method>
    private let openConnections: (@Sendable (Origin) -> MetricsMiddleware.ConnectionCount?)?
    private let state: Mutex<State>

    init(
        factory: (any MetricsFactory)?, attributes: MetricsMiddleware.Attributes, knownMethods: Set<HTTPRequest.Method>,
        openConnections: (@Sendable (Origin) -> MetricsMiddleware.ConnectionCount?)?
    ) {
        (self.attributes, self.knownMethods, self.openConnections) = (attributes, knownMethods, openConnections)
        state = Mutex(State(factory: factory))
    }

    func series(of request: Request) -> Series {
        let key = Key(
            method: Conventions.method(request.method, isKnown: knownMethods.contains(request.method)),
            server: .origin(Conventions.server(of: request)),
            template: attributes.contains(.urlTemplate) ? request.options.urlTemplate : nil)
        // Of methods there are few.
        let rest = Key(method: key.method, server: .others, template: nil)
        let (known, factory, isFull) = state.withLock { state -> (Series?, any MetricsFactory, Bool) in
            let factory = state.factory ?? MetricsSystem.factory
            state.factory = factory
            let isFull = state.series.count >= Self.seriesLimit
            return (state.series[key] ?? (isFull ? state.series[rest] : nil), factory, isFull)
        }
        if let known { return known }
        let made = make(isFull ? rest : key, by: factory)
        return state.withLock { state in
            if let known = state.series[key] { return known }
            // Others may have filled it meanwhile.
            if !isFull, state.series.count >= Self.seriesLimit { return state.series[rest] ?? made }
            let known = state.series[isFull ? rest : key] ?? made
            state.series[isFull ? rest : key] = known
            return known
        }
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
    /// How an attempt ended.
    struct Outcome: Hashable {
        /// Nil where no head came.
        var status: Int?
        /// Nil where it went well, or its caller left.
        var errorType: String?
        /// Nil where it is not known.
        var version: String?

        fileprivate var dimensions: [(String, String)] {
            [("http.response.status_code", status.map(String.init)), ("error.type", errorType), ("network.protocol.version", version)]
                .compactMap { name, value in value.map { (name, $0) } }
        }
    }

    private struct Key: Hashable {
        let label: String
        let outcome: Outcome
    }

    /// A server chooses the status. With this many instruments, of three kinds, further outcomes are counted together: those that went well as one, and
    /// those that did not as another.
    static let outcomeLimit = 100

    let active: Meter
    private let factory: any MetricsFactory
    private let dimensions: [(String, String)]
    private let connections: ConnectionMeters?
    private let recorders = Mutex<[Key: Recorder]>([:])

    init(factory: any MetricsFactory, dimensions: [(String, String)], active: Meter, connections: ConnectionMeters?) {
        (self.factory, self.dimensions, self.active, self.connections) = (factory, dimensions, active, connections)
    }

    /// An attempt is over.
    func end(_ outcome: Outcome, after elapsed: Duration) {
        active.decrement()
        recorder("http.client.request.duration", outcome).record(elapsed / .seconds(1))
        connections?.update()
    }

    /// - Parameters:
    ///   - requestBytes: nil where there was no body, or its size is not known.
    ///   - responseBytes: nil where the size is not known.
    func recordSizes(_ requestBytes: Int64?, _ responseBytes: Int64?, of outcome: Outcome) {
        if let requestBytes { recorder("http.client.request.body.size", outcome).record(requestBytes) }
        if let responseBytes { recorder("http.client.response.body.size", outcome).record(responseBytes) }
    }

    private func recorder(_ label: String, _ outcome: Outcome) -> Recorder {
        var key = Key(label: label, outcome: outcome)
        let (known, isFull) = recorders.withLock { ($0[key], $0.count >= Self.outcomeLimit) }
        if let known { return known }
        if isFull {
            // One that went well stays one.
            key = Key(label: label, outcome: Outcome(errorType: outcome.errorType == nil ? nil : Instruments.otherServers))
            if let known = recorders.withLock({ $0[key] }) { return known }
        }
        let made = Recorder(label: label, dimensions: dimensions + key.outcome.dimensions, aggregate: true, factory: factory)
        return recorders.withLock { recorders in
            if let known = recorders[key] { return known }
            recorders[key] = made
            return made
        }
    }
}

/// The open connections to one origin, as whoever counts them says.
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
        (self.origin, self.count, active, idle) = (origin, count, meter("active"), meter("idle"))
    }

    func update() {
        guard let count = count(origin) else { return }
        active.set(count.active)
        idle.set(count.idle)
    }
}
#endif
