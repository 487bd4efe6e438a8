internal import ClientHarness
internal import ErrandSQLite

/// Measures the stores of the cache. `Benchmarks/cache` starts the program.
///
///     CacheBenchmarks STORE-CASE get 1 WARMUP COUNT BYTES   a StorePeer, with the line of figures of ClientHarness
///     CacheBenchmarks fill FOLDER COUNT BYTES               fills a store on the disk
///     CacheBenchmarks open FOLDER COUNT BYTES               opens the filled store, and prints the time until the first hit
///     CacheBenchmarks bodies URL COUNT FOLDER               a BodyMeasurement
///     CacheBenchmarks misses COUNT FOLDER                   a MissMeasurement
@main
struct CacheBenchmarks {
    static func main() {
        let arguments = Array(CommandLine.arguments.dropFirst())
        let numbers = arguments.map { Int($0) ?? 0 }
        switch (arguments.first, arguments.count) {
        case ("fill", 4):
            Harness.end { try await StorePeer.fill(StorePeer.largeStore(inFolder: arguments[1]), count: numbers[2], bodyBytes: numbers[3]) }
        case ("open", 4):
            Harness.end { print("wall_ns=\(try await StorePeer.open(arguments[1], count: numbers[2], bodyBytes: numbers[3]))") }
        case ("bodies", 4):
            Harness.end { print(try await BodyMeasurement.of(arguments[1], count: numbers[2], folder: arguments[3])) }
        case ("misses", 3): Harness.end { print(try await MissMeasurement.of(numbers[1], folder: arguments[2])) }
        default: Harness.main { name, setting in try await StorePeer(name, setting) }
        }
    }
}
