internal import ErrandCore

/// The latency and the throughput of a network that a stub or a mock server simulates.
public struct NetworkConditions: Sendable, Hashable, CustomStringConvertible {
    /// The wait before the head of the response; at least zero.
    public var latency: Duration
    /// The throughput of the response's body in bytes per second, more than 0. `nil` means that the throughput is unlimited.
    public var downloadBytesPerSecond: Int?
    /// The throughput of the request's body in bytes per second, more than 0. `nil` means that the throughput is unlimited.
    public var uploadBytesPerSecond: Int?

    /// Creates conditions. By default, there is no latency and no limit.
    public init(latency: Duration = .zero, downloadBytesPerSecond: Int? = nil, uploadBytesPerSecond: Int? = nil) {
        precondition(latency >= .zero, "latency must be at least zero (is \(latency.inWords))")
        for (name, rate) in [("downloadBytesPerSecond", downloadBytesPerSecond), ("uploadBytesPerSecond", uploadBytesPerSecond)] {
            precondition(rate.map { $0 > 0 } ?? true, "\(name) must be more than 0, or nil (is \(rate ?? 0))")
        }
        (self.latency, self.downloadBytesPerSecond, self.uploadBytesPerSecond) = (latency, downloadBytesPerSecond, uploadBytesPerSecond)
    }

    /// An EDGE network: 240 kbit/s down, 200 kbit/s up, a latency of 400 ms.
    public static let edge = NetworkConditions(latency: .milliseconds(400), downloadBytesPerSecond: 30_000, uploadBytesPerSecond: 25_000)
    /// A 3G network: 780 kbit/s down, 330 kbit/s up, a latency of 100 ms.
    public static let mobile3G = NetworkConditions(
        latency: .milliseconds(100), downloadBytesPerSecond: 97_500, uploadBytesPerSecond: 41_250)
    /// A 4G network: 50 Mbit/s down, 10 Mbit/s up, a latency of 50 ms.
    public static let mobile4G = NetworkConditions(
        latency: .milliseconds(50), downloadBytesPerSecond: 6_250_000, uploadBytesPerSecond: 1_250_000)
    /// A Wi-Fi network: 40 Mbit/s down, 33 Mbit/s up, a latency of 1 ms.
    public static let wiFi = NetworkConditions(
        latency: .milliseconds(1), downloadBytesPerSecond: 5_000_000, uploadBytesPerSecond: 4_125_000)

    public var description: String {
        func rate(_ bytes: Int?) -> String { bytes.map { "\($0.counted("byte"))/s" } ?? "any rate" }
        return "\(latency) latency, \(rate(downloadBytesPerSecond)) down, \(rate(uploadBytesPerSecond)) up"
    }
}
