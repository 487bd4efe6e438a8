import Errand
import TestSupport
import Testing

@Suite(.timeLimit(.minutes(5))) struct ExchangeLifetimeTests {
    private func name(_ end: ExchangeLifetime.Outcome?) -> String {
        switch end {
        case .complete: "complete"
        case .failed(let error): "failed \(type(of: error))"
        case .abandoned: "abandoned"
        case nil: "going on"
        }
    }

    @Test func handlersAreCalledOnceAndTheFirstEndCounts() {
        let lifetime = ExchangeLifetime()
        let told = RecordingList<String>()
        for number in 1...2 { lifetime.onEnd { told.record("\(number) \(name($0))") } }
        #expect(told.all.isEmpty && lifetime.outcome == nil)
        lifetime.end(.failed(TestError()))
        lifetime.end(.complete)
        #expect(told.all == ["1 failed TestError", "2 failed TestError"])
        #expect(name(lifetime.outcome) == "failed TestError")
    }

    @Test func aLateHandlerIsCalledImmediately() {
        let told = RecordingList<String>()
        let lifetime = ExchangeLifetime(outcome: .abandoned)
        lifetime.onEnd { told.record(name($0)) }
        #expect(told.all == ["abandoned"])
        lifetime.end(.complete)
        #expect(told.all == ["abandoned"])
    }

    @Test func theSizesOfTheFirstEndAreReported() {
        let lifetime = ExchangeLifetime()
        let told = RecordingList<ExchangeLifetime.BodySizes>()
        lifetime.onEnd { told.record($1) }
        lifetime.end(.complete, sizes: ExchangeLifetime.BodySizes(requestBytes: 1, responseBytes: 2))
        lifetime.end(.complete, sizes: ExchangeLifetime.BodySizes(requestBytes: 3))
        lifetime.onEnd { told.record($1) }
        ExchangeLifetime(outcome: .complete).onEnd { told.record($1) }
        let sizes = ExchangeLifetime.BodySizes(requestBytes: 1, responseBytes: 2)
        #expect(told.all == [sizes, sizes, ExchangeLifetime.BodySizes()])
    }

    @Test func aLifetimeReleasedWithoutAnEndWasAbandoned() {
        let told = RecordingList<String>()
        do {
            let lifetime = ExchangeLifetime()
            lifetime.onEnd { told.record(name($0)) }
            #expect(told.all.isEmpty)
        }
        #expect(told.all == ["abandoned"])
    }

    @Test func aHandlerMayAskTheLifetimeItself() {
        let lifetime = ExchangeLifetime()
        let told = RecordingList<String>()
        lifetime.onEnd { _ in
            told.record(name(lifetime.outcome))
            lifetime.onEnd { told.record(name($0)) }
        }
        lifetime.end(.complete)
        #expect(told.all == ["complete", "complete"])
    }

    @Test func eachHandlerGetsOneOfManyConcurrentEnds() async {
        let lifetime = ExchangeLifetime()
        let told = RecordingList<String>()
        await withTaskGroup(of: Void.self) { group in
            for number in 0..<200 {
                group.addTask {
                    number % 2 == 0 ? lifetime.onEnd { told.record(name($0)) } : lifetime.end(number % 4 == 1 ? .complete : .abandoned)
                }
            }
        }
        #expect(told.all.count == 100 && Set(told.all).count == 1)
    }
}
