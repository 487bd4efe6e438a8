// swift-tools-version:6.2
import PackageDescription

// Measurements. `swift run -c release StackBenchmarks` prints what the layers cost; with `--check` it fails over budget.
// `FormatBenchmarks` does the same for what reads and writes bodies and fields. `Benchmarks/run` starts `ClientBenchmarks`,
// `URLSessionBenchmarks` and the clients of other languages, and prints how they compare over the network.

let package = Package(
    name: "ErrandBenchmarks",
    platforms: [.macOS(.v15)],
    dependencies: [
        .package(name: "Errand", path: "..", traits: ["Telemetry", "NIO", "Auth", "SQLite"]),
        .package(url: "https://github.com/apple/swift-log", from: "1.16.2"),
        .package(url: "https://github.com/apple/swift-metrics", from: "2.13.0"),
        .package(url: "https://github.com/apple/swift-distributed-tracing", from: "1.7.3"),
        .package(url: "https://github.com/apple/swift-nio", from: "2.101.2"),
        .package(url: "https://github.com/apple/swift-nio-ssl", from: "2.37.6"),
        .package(url: "https://github.com/swift-server/async-http-client", from: "1.37.0"),
    ],
    targets: [
        .target(name: "CAllocations"),
        .target(
            name: "SeamCases",
            dependencies: [
                .product(name: "ErrandAPI", package: "Errand"), .product(name: "ErrandAuth", package: "Errand"),
                .product(name: "ErrandCache", package: "Errand"), .product(name: "ErrandCore", package: "Errand"),
                .product(name: "ErrandMiddleware", package: "Errand"), .product(name: "ErrandTelemetry", package: "Errand"),
                .product(name: "Metrics", package: "swift-metrics"), .product(name: "Tracing", package: "swift-distributed-tracing"),
            ]),
        // Without the count of allocations, which callgrind does not bear.
        .executableTarget(name: "SeamCalls", dependencies: ["SeamCases"]),
        .executableTarget(
            name: "StackBenchmarks",
            dependencies: [
                "CAllocations", "SeamCases", .product(name: "ErrandMiddleware", package: "Errand"),
                .product(name: "ErrandCore", package: "Errand"),
                .product(name: "ErrandTelemetry", package: "Errand"),
                .product(name: "Logging", package: "swift-log"), .product(name: "Metrics", package: "swift-metrics"),
                .product(name: "Tracing", package: "swift-distributed-tracing"),
            ]
        ),
        // The jar and the public suffixes. `Benchmarks/cookies` compares them with Python's http.cookiejar and libpsl.
        .executableTarget(
            name: "CookieBenchmarks",
            dependencies: [
                "CAllocations", "SeamCases", .product(name: "ErrandAuth", package: "Errand"),
                .product(name: "ErrandCore", package: "Errand"),
            ]),
        // The C library and zlib by themselves, which the formats are compared with.
        .target(name: "CPeers", linkerSettings: [.linkedLibrary("z")]),
        .executableTarget(
            name: "FormatBenchmarks",
            dependencies: [
                "CAllocations", "CPeers", .product(name: "ErrandCore", package: "Errand"),
                .product(name: "ErrandFormats", package: "Errand"), .product(name: "ErrandAuth", package: "Errand"),
                .product(name: "ErrandCompression", package: "Errand"),
            ]
        ),
        // What instructions and allocations of the transport are counted in, by callgrind.
        .executableTarget(
            name: "TransportCalls",
            dependencies: [
                "CAllocations", .product(name: "ErrandCore", package: "Errand"), .product(name: "ErrandNIO", package: "Errand"),
                .product(name: "NIOCore", package: "swift-nio"), .product(name: "NIOPosix", package: "swift-nio"),
            ]
        ),
        // What the programs of the Swift clients share.
        .target(name: "ClientHarness", dependencies: ["CAllocations"]),
        .executableTarget(
            name: "ClientBenchmarks",
            dependencies: [
                "ClientHarness",
                .product(name: "ErrandCore", package: "Errand"), .product(name: "ErrandMiddleware", package: "Errand"),
                .product(name: "ErrandAPI", package: "Errand"),
                .product(name: "ErrandNIO", package: "Errand"),
                .product(name: "AsyncHTTPClient", package: "async-http-client"),
                .product(name: "NIOCore", package: "swift-nio"), .product(name: "NIOPosix", package: "swift-nio"),
                .product(name: "NIOHTTP1", package: "swift-nio"), .product(name: "NIOFoundationEssentialsCompat", package: "swift-nio"),
                .product(name: "NIOSSL", package: "swift-nio-ssl"),
            ]
        ),
        // The stores of the cache. `Benchmarks/cache` compares them with hishel and nginx.
        .executableTarget(
            name: "CacheBenchmarks",
            dependencies: [
                "ClientHarness", .product(name: "ErrandCache", package: "Errand"), .product(name: "ErrandCore", package: "Errand"),
                .product(name: "ErrandNIO", package: "Errand"), .product(name: "ErrandSQLite", package: "Errand"),
            ]),
        // Apart, so that the others don't link FoundationNetworking.
        .executableTarget(
            name: "URLSessionBenchmarks",
            dependencies: [
                "ClientHarness", .product(name: "ErrandCore", package: "Errand"), .product(name: "ErrandURLSession", package: "Errand"),
            ]),
    ],
    swiftLanguageModes: [.v6]
)

for target in package.targets where !["CAllocations", "CPeers"].contains(target.name) {
    target.swiftSettings = [
        "ExistentialAny", "InternalImportsByDefault", "MemberImportVisibility", "NonisolatedNonsendingByDefault",
        "InferIsolatedConformances",
    ].map { .enableUpcomingFeature($0) }
}
