import Errand
import Metrics
import Synchronization

// The samples of the article "MetricsPerEndpoint", unchanged: `ReadmeTests` compares each sample with this file.

func measuredByEndpoint(_ network: HTTPStack, factory: any MetricsFactory) -> APIClient {
    APIClient(network.retry().metrics(factory: factory, attributes: .urlTemplate).server("https://api.example"))
}

/// Counts and sums of all metrics, in the text format that Prometheus reads.
nonisolated final class TextMetrics: MetricsFactory {
    private let values = Mutex<[String: Double]>([:])

    /// The content of `/metrics`: one line for each series, sorted.
    var text: String { values.withLock { $0.map { "\($0.key) \($0.value)\n" } }.sorted().joined() }

    func makeRecorder(label: String, dimensions: [(String, String)], aggregate: Bool) -> any RecorderHandler {
        Series(label, dimensions, in: self)
    }

    func makeMeter(label: String, dimensions: [(String, String)]) -> any MeterHandler { Series(label, dimensions, in: self) }

    // The library uses recorders and meters alone.
    func makeCounter(label: String, dimensions: [(String, String)]) -> any CounterHandler { NOOPMetricsHandler.instance }
    func makeTimer(label: String, dimensions: [(String, String)]) -> any TimerHandler { NOOPMetricsHandler.instance }
    func destroyCounter(_ handler: any CounterHandler) {}
    func destroyRecorder(_ handler: any RecorderHandler) {}
    func destroyMeter(_ handler: any MeterHandler) {}
    func destroyTimer(_ handler: any TimerHandler) {}

    private final class Series: RecorderHandler, MeterHandler {
        private let name: String
        private let labels: String
        private let metrics: TextMetrics

        init(_ label: String, _ dimensions: [(String, String)], in metrics: TextMetrics) {
            name = label.replacing(".", with: "_")
            let pairs = dimensions.map { "\($0.0.replacing(".", with: "_"))=\"\($0.1)\"" }.sorted()
            (labels, self.metrics) = ("{\(pairs.joined(separator: ","))}", metrics)
        }

        private func change(_ suffix: String = "", _ change: (inout Double) -> Void) {
            metrics.values.withLock { change(&$0[name + suffix + labels, default: 0]) }
        }

        func record(_ value: Int64) { record(Double(value)) }
        func record(_ value: Double) {
            change("_count") { $0 += 1 }
            change("_sum") { $0 += value }
        }

        func set(_ value: Int64) { set(Double(value)) }
        func set(_ value: Double) { change { $0 = value } }
        func increment(by amount: Double) { change { $0 += amount } }
        func decrement(by amount: Double) { change { $0 -= amount } }
    }
}
