import ErrandCore
import ErrandMiddleware
import ErrandTelemetry
import Logging
import Metrics
import SeamCases
import Tracing

extension StackBenchmarks {
    /// Measures what each flow-control layer adds to the cost of a request on the bare stack, while nothing is queued.
    static func measureFlow(over bare: HTTPStack, _ request: Request, _ base: Figure) async throws -> [(String, Figure)] {
        print("\nflow control, with nobody in the way\n")
        let layers: [(String, HTTPStack)] = [
            ("concurrencyLimit", bare.concurrencyLimit(100)),
            ("concurrencyLimit, adaptive", bare.concurrencyLimit(.adaptive())),
            // A limit that these calls don't reach.
            ("rateLimit", bare.rateLimit(RateLimit(100_000, per: .milliseconds(1)))),
            ("circuitBreaker", bare.circuitBreaker()),
            ("coalesce", bare.coalesce()),
            ("hedge", bare.hedge(HedgePolicy(.fixed(.seconds(60))))),
            ("retry", bare.retry()),
            ("standardResilience", bare.standardResilience()),
        ]
        var figures: [(String, Figure)] = []
        for (name, stack) in layers {
            figures.append((name, try await measure("  + \(name)") { _ = try await stack.send(request) } - base))
        }
        return figures
    }

    /// Measures the cost of the observers, switched on and off.
    static func measureObservers(
        over bare: HTTPStack, _ request: Request, _ base: Figure
    ) async throws -> (off: Figure, all: Figure) {
        print("\nobservers, over back ends that keep nothing\n")
        var quiet = Logger(label: "benchmark") { _ in SwiftLogNoOpLogHandler() }
        quiet.logLevel = .critical
        let metrics = bare.metrics(factory: NOOPMetricsHandler.instance)
        let trace = bare.trace(tracer: SilentTracer())
        let events = bare.events(to: Forgetful())
        let all = bare.metrics(factory: NOOPMetricsHandler.instance).trace(tracer: SilentTracer()).events(to: Forgetful())
        let logged = all.log(to: quiet).number()
        let profiled = bare.profile()
        var unseen = request
        (unseen.options.metrics, unseen.options.trace, unseen.options.events) = (.off, .off, .off)
        (unseen.options.log, unseen.options.number, unseen.options.profile) = (.off, .off, .off)
        let unobserved = logged.profile()
        let bareUnseen = try await measure("  the bare stack, with the same options set") { [unseen] in _ = try await bare.send(unseen) }
        let off = try await measure("  + all of them, switched off for the request") { [unseen] in _ = try await unobserved.send(unseen) }
        let noBackEnd = bare.metrics(factory: NOOPMetricsHandler.instance).trace(tracer: NoOpTracer()).events { _ in nil }
        _ = try await measure("  + metrics, trace and events that nobody takes") { _ = try await noBackEnd.send(request) }
        _ = try await measure("  + metrics") { _ = try await metrics.send(request) }
        _ = try await measure("  + trace") { _ = try await trace.send(request) }
        _ = try await measure("  + events") { _ = try await events.send(request) }
        let together = try await measure("  + metrics, trace and events") { _ = try await all.send(request) }
        _ = try await measure("  + metrics, trace, events, log and number") { _ = try await logged.send(request) }
        _ = try await measure("  + profile") { _ = try await profiled.send(request) }
        return (off - bareUnseen, together - base)
    }
}
