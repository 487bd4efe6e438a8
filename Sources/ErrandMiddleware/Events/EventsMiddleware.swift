public import ErrandCore

/// Tells a sink what happens in each call: an ``ExchangeEvent`` for each step, in order, one at a time, from `callStart` to `callEnd`.
///
/// **Place:** outside all that is to be told of: `retry`, `redirect` and the limits tell the request's sink, and so does the transport. Inside
/// `number`, whose number the events then have. A sink that the request has already is told as well.
///
/// `callEnd` comes when the last exchange is over on the wire, which may be after the response was returned, and need not wait for anybody
/// to read it; that of a typed call comes when its value was decoded, or with what decoding failed by. A body that nobody reads or drops keeps its exchange open.
///
/// **Per request:** `request.options.events = .off`, or `.use(sink)`.
public struct EventsMiddleware: HTTPMiddleware {
    private let sink: @Sendable (Request) -> (any EventSink)?

    /// - Parameter sink: for each call; nil tells of none.
    public init(_ sink: @escaping @Sendable (Request) -> (any EventSink)?) { self.sink = sink }

    public var place: MiddlewarePlace? { .events }

    public var neighbors: [MiddlewareNeighbor] {
        [
            .inside(.number, because: "the events would not have the number"),
            .outside(.retry, because: "each attempt would be a call of its own"),
            .outside(.redirect, because: "each hop would be a call of its own"),
        ]
    }

    public var label: String { "events" }

    public func send(_ request: Request, to next: some HTTPSender) async throws -> Response {
        let own: (any EventSink)? =
            switch request.options.events {
            case .inherited: sink(request)
            case .off: nil
            case .use(let sink): sink
            }
        guard let own else { return try await next.send(request) }
        let log = CallEventLog(
            EventSinks.together(request.options.eventSink, own), request: request.id, number: request.options.requestNumber,
            tags: request.shownTags)
        var told = request
        told.options.eventSink = log
        do {
            var response = try await next.send(told)
            response.restoreCall(of: request)
            response.onCallEnd(of: request, mark: {}) { log.end($0.failure) }
            return response
        } catch {
            log.end(error)
            throw error.restoringCall(of: request)
        }
    }
}

private enum EventsKey: OptionKey {
    static var defaultValue: OptionOverride<any EventSink> { .inherited }
    static func identity(of value: OptionOverride<any EventSink>) -> OptionIdentity { .none }
    static var crossesOrigins: Bool { true }
    static var servedBy: MiddlewarePlace? { .events }
}

extension RequestOptions {
    /// Another sink for this request's call, or `.off`.
    public var events: OptionOverride<any EventSink> {
        get { self[EventsKey.self] }
        set { self[EventsKey.self] = newValue }
    }
}

extension HTTPSender {
    /// Tells `sink` of every call. See ``EventsMiddleware``.
    public func events(to sink: some EventSink) -> HTTPStack { wrapped(by: EventsMiddleware { _ in sink }) }

    /// Tells a sink of each call's own; nil tells of none. See ``EventsMiddleware``.
    public func events(_ sink: @escaping @Sendable (Request) -> (any EventSink)?) -> HTTPStack { wrapped(by: EventsMiddleware(sink)) }
}
