public import Metrics
internal import Synchronization

/// A metrics backend that keeps all values, and writes them in Prometheus' text format.
public final class RecordingMetrics: MetricsFactory {
    private struct Key: Hashable {
        let label: String
        let dimensions: [[String]]

        init(_ label: String, _ dimensions: [(String, String)]) {
            self.label = label
            self.dimensions = dimensions.map { [$0.0, $0.1] }.sorted { $0[0] < $1[0] }
        }

        /// Returns `name{a="x",b="y"}`, with names in Prometheus' syntax.
        func series(_ suffix: String, and more: [[String]] = []) -> String {
            let pairs = (dimensions + more).map { "\($0[0].replacing(".", with: "_"))=\"\($0[1])\"" }
            return label.replacing(".", with: "_") + suffix + "{" + pairs.joined(separator: ",") + "}"
        }
    }

    private struct State {
        var histograms: [Key: Histogram] = [:]
        var meters: [Key: Level] = [:]
        var made = 0
    }

    private let buckets: [Double]
    private let state = Mutex(State())

    /// Creates a backend.
    ///
    /// - Parameter buckets: the upper bounds of the histograms' buckets, ascending, in the unit of the recorded values.
    public init(buckets: [Double] = []) { self.buckets = buckets }

    /// The number of times that an instrument was created, including instruments that existed already.
    public var madeCount: Int { state.withLock(\.made) }

    /// Each series with its attributes, sorted: `http.client.active_requests server.address=a.example …`.
    public var names: [String] {
        state.withLock { state in
            (Array(state.histograms.keys) + Array(state.meters.keys))
                .map { key in ([key.label] + key.dimensions.map { "\($0[0])=\($0[1])" }).joined(separator: " ") }.sorted()
        }
    }

    /// Returns the values of all series with this name and at least these attributes.
    public func values(_ label: String, _ dimensions: [String: String] = [:]) -> [Double] {
        let found = state.withLock { state in state.histograms.filter { Self.matches($0.key, label, dimensions) }.map(\.value) }
        return found.flatMap(\.values)
    }

    /// Returns the sum of all meters with this name and at least these attributes.
    public func level(_ label: String, _ dimensions: [String: String] = [:]) -> Double {
        let found = state.withLock { state in state.meters.filter { Self.matches($0.key, label, dimensions) }.map(\.value) }
        return found.map(\.value).reduce(0, +)
    }

    private static func matches(_ key: Key, _ label: String, _ dimensions: [String: String]) -> Bool {
        key.label == label && dimensions.allSatisfy { key.dimensions.contains([$0.key, $0.value]) }
    }

    /// The text format: the buckets, sum and count of each histogram, and the value of each meter; sorted lines.
    public var exposition: [String] {
        let (histograms, meters) = state.withLock { ($0.histograms, $0.meters) }
        let histogramLines = histograms.flatMap { key, histogram in
            let values = histogram.values
            let counted = buckets.map { bound in
                "\(key.series("_bucket", and: [["le", "\(bound)"]])) \(values.filter { $0 <= bound }.count)"
            }
            let whole = "\(key.series("_bucket", and: [["le", "+Inf"]])) \(values.count)"
            return counted + [whole, "\(key.series("_sum")) \(values.reduce(0, +))", "\(key.series("_count")) \(values.count)"]
        }
        return (histogramLines + meters.map { "\($0.key.series("")) \($0.value.value)" }).sorted()
    }

    // MARK: - Instruments

    private final class Histogram: RecorderHandler {
        private let recorded = Mutex<[Double]>([])
        var values: [Double] { recorded.withLock { $0 } }
        func record(_ value: Int64) { record(Double(value)) }
        func record(_ value: Double) { recorded.withLock { $0.append(value) } }
    }

    private final class Level: MeterHandler {
        private let level = Mutex(0.0)
        var value: Double { level.withLock { $0 } }
        func set(_ value: Int64) { set(Double(value)) }
        func set(_ value: Double) { level.withLock { $0 = value } }
        func increment(by amount: Double) { level.withLock { $0 += amount } }
        func decrement(by amount: Double) { level.withLock { $0 -= amount } }
    }

    public func makeRecorder(label: String, dimensions: [(String, String)], aggregate: Bool) -> any RecorderHandler {
        precondition(aggregate, "a histogram aggregates")
        return state.withLock { state in
            state.made += 1
            let key = Key(label, dimensions)
            let histogram = state.histograms[key] ?? Histogram()
            state.histograms[key] = histogram
            return histogram
        }
    }

    public func makeMeter(label: String, dimensions: [(String, String)]) -> any MeterHandler {
        state.withLock { state in
            state.made += 1
            let key = Key(label, dimensions)
            let level = state.meters[key] ?? Level()
            state.meters[key] = level
            return level
        }
    }

    public func makeCounter(label: String, dimensions: [(String, String)]) -> any CounterHandler { NOOPMetricsHandler.instance }
    public func makeTimer(label: String, dimensions: [(String, String)]) -> any TimerHandler { NOOPMetricsHandler.instance }
    public func destroyRecorder(_ handler: any RecorderHandler) {}
    public func destroyMeter(_ handler: any MeterHandler) {}
    public func destroyCounter(_ handler: any CounterHandler) {}
    public func destroyTimer(_ handler: any TimerHandler) {}
}
