import Errand
import ErrandTesting
import TestSupport
import Testing

/// What `print` shows of an object that several stacks share.
@Suite(.timeLimit(.minutes(5))) struct SharedObjectDescriptionTests {
    @Test func aSharedObjectDescribesItsState() {
        let limits = MemoryRateLimitStore()
        _ = limits.take("https://a.example", limit: .perSecond(5))
        let sink = RecordingEventSink()
        let clock = ManualClock()
        clock.advance(by: .seconds(30))
        let rows: [(Any, String)] = [
            (limits, "rate limits in memory, keys: 1"),
            (NetworkGate(ScriptedPathMonitor(.unsatisfied)), "network gate, waiting calls: 0, path: unsatisfied"),
            (ScriptedPathMonitor(.cellular), "network path monitor, path: satisfied, cellular, expensive"),
            (MemoryTokenStore(), "memory, without a token"),
            (MemoryTokenStore(AccessToken("top-secret")), "memory, with a token"),
            (HSTSList(), "HSTS hosts, noted: 0, preloaded: 0"),
            (SystemHostResolver().cached(), "cached host resolver, hosts: 0"), (sink, "event sink, events: 0"),
            (clock, "manual clock at 30 s, sleepers: 0"),
        ]
        for (object, text) in rows { #expect("\(object)" == text) }
    }
}

/// What `print(stack)` and the profile call the middleware, read as a person.
@Suite(.timeLimit(.minutes(5))) struct LabelTests {
    static let labels: [(HTTPStack, String)] = {
        let stub = StubTransport()
        let slow = CircuitBreakerPolicy(failureRatio: 0.25, minimumCalls: 10, slowCallThreshold: .seconds(2), slowCallRatio: 0.999)
        return [
            (stub.circuitBreaker(), "circuitBreaker(opens for 5 s if 50 % of at least 20 calls in 30 s fail, or 20 in succession)"),
            (
                stub.circuitBreaker(CircuitBreaker(slow)),
                "circuitBreaker(opens for 5 s if 25 % of at least 10 calls in 30 s fail, or 20 in succession, or 99.9 % take longer than 2 s)"
            ),
            (stub.rateLimit(.perSecond(5)), "rateLimit(5 per second, burst 5, per origin)"),
            (stub.rateLimit(.perMinute(60, burst: 1), per: .all), "rateLimit(60 per minute, burst 1, in all)"),
            (stub.rateLimit(RateLimit(9, per: .milliseconds(1500))), "rateLimit(9 per 1.5 s, burst 9, per origin)"),
            (stub.rateLimit(per: .key("tenant") { _ in nil }), "rateLimit(as the server says, per tenant)"),
            (stub.concurrencyLimit(6), "concurrencyLimit(6 per origin)"),
            (stub.concurrencyLimit(.adaptive(), per: .all), "concurrencyLimit(1 to 200 in all)"),
            (stub.hedge(), "hedge(after p97, 2 attempts)"),
            (stub.hedge(HedgePolicy(.percentile(0.999))), "hedge(after p99.9, 2 attempts)"),
            (stub.hedge(HedgePolicy(.fixed(.milliseconds(50)), maxAttempts: 3)), "hedge(after 50 ms, 3 attempts)"),
            (stub.phaseTimeouts(firstByte: .seconds(2)), "phaseTimeouts(firstByte: 2 s)"),
            (
                stub.phaseTimeouts(connect: .milliseconds(1500), attempt: .seconds(10)),
                "phaseTimeouts(connect: 1.5 s, attempt: 10 s)"
            ),
            (stub.timeout(.seconds(30)), "timeout(30 s)"), (stub.timeout(.milliseconds(250)), "timeout(250 ms)"),
            (stub.delay(by: .milliseconds(500)), "delay(500 ms)"),
            (stub.waitForNetwork(upTo: .seconds(30), monitor: ScriptedPathMonitor()), "waitForNetwork(up to 30 s)"),
            (stub.coalesce(), "coalesce"), (stub.hsts(HSTSList()), "hsts"),
            (stub.authenticate(.basic(user: "joe", password: "secret")), "authenticate(basic)"),
            (stub.authenticate(.digest(user: "joe", password: "secret")), "authenticate(digest)"),
            (stub.authenticate(.bearer("secret")), "authenticate(bearer)"), (stub.authenticate(), "authenticate(by option)"),
            (
                stub.sign(with: .awsV4(AWSCredentials(accessKeyID: "id", secretAccessKey: "secret"), region: "r", service: "s3")),
                "sign(awsV4(r, s3))"
            ),
        ]
    }()

    @Test(arguments: labels.indices) func eachLabelDescribesItsMiddleware(_ index: Int) {
        let (stack, label) = Self.labels[index]
        #expect(stack.layers.first?.label == label)
    }
}
