// swift-tools-version:6.2
import PackageDescription

// One library, small modules. Which module may import which is held by `scripts/check-imports`.

/// The platforms on which the trait `NIO` builds SwiftNIO. On Apple's platforms, the transport over URLSession is the default. There,
/// SwiftNIO is neither built nor linked without the trait `NIOEverywhere` or `MockServer`.
let swiftNIOPlatforms: [Platform] = [.linux, .android, .openbsd]
let applePlatforms: [Platform] = [.iOS, .macOS, .macCatalyst, .tvOS, .watchOS, .visionOS]

let package = Package(
    name: "Errand",
    platforms: [.iOS(.v18), .macOS(.v15), .tvOS(.v18), .watchOS(.v11), .visionOS(.v2)],
    products: [
        .library(name: "Errand", targets: ["Errand"]),
        .library(name: "ErrandCore", targets: ["ErrandCore"]),
        .library(name: "ErrandFormats", targets: ["ErrandFormats"]),
        .library(name: "ErrandMiddleware", targets: ["ErrandMiddleware"]),
        .library(name: "ErrandCompression", targets: ["ErrandCompression"]),
        .library(name: "ErrandAuth", targets: ["ErrandAuth"]),
        .library(name: "ErrandCache", targets: ["ErrandCache"]),
        .library(name: "ErrandSQLite", targets: ["ErrandSQLite"]),
        .library(name: "ErrandTransfers", targets: ["ErrandTransfers"]),
        .library(name: "ErrandTelemetry", targets: ["ErrandTelemetry"]),
        .library(name: "ErrandAPI", targets: ["ErrandAPI"]),
        .library(name: "ErrandNIO", targets: ["ErrandNIO"]),
        .library(name: "ErrandURLSession", targets: ["ErrandURLSession"]),
        .library(name: "ErrandRecording", targets: ["ErrandRecording"]),
        .library(name: "ErrandTesting", targets: ["ErrandTesting"]),
        .library(name: "ErrandURLSessionTesting", targets: ["ErrandURLSessionTesting"]),
        .library(name: "ErrandMockServer", targets: ["ErrandMockServer"]),
        .library(name: "ErrandConformance", targets: ["ErrandConformance"]),
        .library(name: "ErrandStoreConformance", targets: ["ErrandStoreConformance"]),
    ],
    traits: [
        .default(enabledTraits: ["Telemetry", "NIO", "Auth"]),
        .trait(name: "Telemetry", description: "Logs, metrics and traces, over swift-log, swift-metrics and swift-distributed-tracing."),
        .trait(name: "Crypto", description: "Hash functions for what needs them, over swift-crypto. Auth, NIO and SQLite switch it on."),
        .trait(
            name: "Auth", description: "Authentication, token refresh and OAuth 2, over swift-crypto.", enabledTraits: ["Crypto"]
        ),
        .trait(
            name: "NIO",
            description:
                "The transport over SwiftNIO, the default except on Apple's platforms. It needs SwiftNIO, NIOSSL, NIOHTTP2 and swift-crypto.",
            enabledTraits: ["Crypto"]
        ),
        .trait(
            name: "NIOEverywhere",
            description: "The transport over SwiftNIO on Apple's platforms too, for a service that is developed on a Mac.",
            enabledTraits: ["NIO"]
        ),
        .trait(
            name: "MockServer",
            description: "The mock server, for tests. It needs SwiftNIO, and swift-certificates for certificates of its own."
        ),
        .trait(
            name: "ServiceLifecycle",
            description: "A transport as a service of swift-service-lifecycle, ended by a graceful shutdown."
        ),
        .trait(name: "Brotli", description: "The content coding br. It needs the system's Brotli: libbrotli-dev."),
        .trait(name: "Zstandard", description: "The content coding zstd. It needs the system's Zstandard: libzstd-dev."),
        .trait(
            name: "SQLite", description: "A store of responses on the disk. It needs the system's SQLite: libsqlite3-dev.",
            enabledTraits: ["Crypto"]
        ),
    ],
    dependencies: [
        .package(url: "https://github.com/apple/swift-http-types", from: "1.8.0"),
        // Behind the trait `Telemetry`.
        .package(url: "https://github.com/apple/swift-log", from: "1.16.2"),
        .package(url: "https://github.com/apple/swift-metrics", from: "2.13.0"),
        .package(url: "https://github.com/apple/swift-distributed-tracing", from: "1.7.3"),
        // Behind the traits `NIO` and `MockServer`.
        .package(url: "https://github.com/apple/swift-nio", from: "2.101.2"),
        .package(url: "https://github.com/apple/swift-nio-ssl", from: "2.37.6"),
        .package(url: "https://github.com/apple/swift-nio-http2", from: "1.46.0"),
        // Behind the trait `MockServer`.
        .package(url: "https://github.com/apple/swift-asn1", from: "1.7.4"),
        .package(url: "https://github.com/apple/swift-certificates", from: "1.21.1"),
        // Behind the traits `Crypto`, `Auth` and `MockServer`.
        .package(url: "https://github.com/apple/swift-crypto", "3.12.3"..<"5.0.0"),
        // Behind the trait `ServiceLifecycle`.
        .package(url: "https://github.com/swift-server/swift-service-lifecycle", from: "2.13.0"),
    ],
    targets: [
        // MARK: Formats and the seam
        .target(
            name: "ErrandFormats",
            dependencies: [.product(name: "HTTPTypes", package: "swift-http-types")]
        ),
        // Hash functions, for all that needs them.
        .target(
            name: "ErrandHashing",
            dependencies: [.product(name: "Crypto", package: "swift-crypto", condition: .when(traits: ["Crypto"]))]
        ),
        .target(
            name: "ErrandCore",
            dependencies: ["ErrandFormats", .product(name: "HTTPTypes", package: "swift-http-types")]
        ),
        // Finds and replaces secrets in bodies and texts: for telemetry and recordings.
        .target(name: "ErrandRedaction", dependencies: ["ErrandCore", "ErrandFormats"]),

        // MARK: Middleware and typed calls
        .target(name: "ErrandMiddleware", dependencies: ["ErrandCore", "ErrandFormats"]),
        // The system's zlib.
        .systemLibrary(name: "CZlib", providers: [.apt(["zlib1g-dev"])]),
        // The system's Brotli and Zstandard, behind traits.
        .systemLibrary(name: "CBrotli", providers: [.apt(["libbrotli-dev"]), .brew(["brotli"])]),
        .systemLibrary(name: "CZstd", providers: [.apt(["libzstd-dev"]), .brew(["zstd"])]),
        .target(
            name: "ErrandCompression",
            dependencies: [
                "CZlib", "ErrandCore", "ErrandFormats",
                .target(name: "CBrotli", condition: .when(traits: ["Brotli"])),
                .target(name: "CZstd", condition: .when(traits: ["Zstandard"])),
            ]
        ),
        .target(
            name: "ErrandTelemetry",
            dependencies: [
                "ErrandCore", "ErrandFormats", "ErrandRedaction",
                .product(name: "Logging", package: "swift-log", condition: .when(traits: ["Telemetry"])),
                .product(name: "Metrics", package: "swift-metrics", condition: .when(traits: ["Telemetry"])),
                .product(name: "Tracing", package: "swift-distributed-tracing", condition: .when(traits: ["Telemetry"])),
            ]
        ),
        .target(
            name: "ErrandAuth",
            dependencies: [
                "ErrandCore", "ErrandFormats", "ErrandHashing",
                .product(name: "Crypto", package: "swift-crypto", condition: .when(traits: ["Auth"])),
            ]
        ),
        .target(name: "ErrandAPI", dependencies: ["ErrandCore", "ErrandFormats", "ErrandMiddleware"]),
        .target(name: "ErrandCache", dependencies: ["ErrandCore", "ErrandFormats"]),
        .target(name: "ErrandTransfers", dependencies: ["ErrandCore", "ErrandFormats", "ErrandHashing"]),
        // The system's SQLite, behind a trait.
        .systemLibrary(name: "CSQLite", pkgConfig: "sqlite3", providers: [.apt(["libsqlite3-dev"])]),
        .target(
            name: "ErrandSQLite",
            dependencies: [
                "ErrandCache", "ErrandCore", "ErrandHashing", .target(name: "CSQLite", condition: .when(traits: ["SQLite"])),
            ]
        ),

        // MARK: Transports
        .target(
            name: "ErrandNIO",
            dependencies: [
                "ErrandCore", "ErrandFormats", "ErrandHashing",
                .target(name: "ErrandNIOEverywhere", condition: .when(traits: ["NIOEverywhere"])),
                .product(name: "NIOCore", package: "swift-nio", condition: .when(platforms: swiftNIOPlatforms, traits: ["NIO"])),
                .product(name: "NIOPosix", package: "swift-nio", condition: .when(platforms: swiftNIOPlatforms, traits: ["NIO"])),
                .product(
                    name: "NIOFoundationEssentialsCompat", package: "swift-nio",
                    condition: .when(platforms: swiftNIOPlatforms, traits: ["NIO"])),
                .product(name: "NIOTLS", package: "swift-nio", condition: .when(platforms: swiftNIOPlatforms, traits: ["NIO"])),
                .product(name: "NIOSSL", package: "swift-nio-ssl", condition: .when(platforms: swiftNIOPlatforms, traits: ["NIO"])),
                .product(name: "NIOHTTP2", package: "swift-nio-http2", condition: .when(platforms: swiftNIOPlatforms, traits: ["NIO"])),
                .product(name: "NIOHPACK", package: "swift-nio-http2", condition: .when(platforms: swiftNIOPlatforms, traits: ["NIO"])),
            ]
        ),
        // SwiftNIO on every platform. A dependency has one condition, so the trait's dependencies need a target.
        .target(
            name: "ErrandNIOEverywhere",
            dependencies: [
                .product(name: "NIOCore", package: "swift-nio", condition: .when(traits: ["NIOEverywhere"])),
                .product(name: "NIOPosix", package: "swift-nio", condition: .when(traits: ["NIOEverywhere"])),
                .product(name: "NIOFoundationEssentialsCompat", package: "swift-nio", condition: .when(traits: ["NIOEverywhere"])),
                .product(name: "NIOTLS", package: "swift-nio", condition: .when(traits: ["NIOEverywhere"])),
                .product(name: "NIOSSL", package: "swift-nio-ssl", condition: .when(traits: ["NIOEverywhere"])),
                .product(name: "NIOHTTP2", package: "swift-nio-http2", condition: .when(traits: ["NIOEverywhere"])),
                .product(name: "NIOHPACK", package: "swift-nio-http2", condition: .when(traits: ["NIOEverywhere"])),
            ]
        ),
        // Over URLSession. On Apple's platforms, `import Errand` includes this module. On Linux, only an app that imports the module
        // links FoundationNetworking.
        .target(name: "ErrandURLSession", dependencies: ["ErrandCore", "ErrandFormats"]),

        // MARK: One import for an app
        .target(
            name: "Errand",
            dependencies: [
                "ErrandAPI", "ErrandAuth", "ErrandCache", "ErrandCompression", "ErrandCore", "ErrandFormats", "ErrandMiddleware",
                "ErrandNIO", "ErrandRedaction",
                "ErrandTelemetry", "ErrandTransfers",
                .target(name: "ErrandURLSession", condition: .when(platforms: applePlatforms)),
                .product(
                    name: "ServiceLifecycle",
                    package: "swift-service-lifecycle",
                    condition: .when(traits: ["ServiceLifecycle"])
                ),
            ]
        ),

        // MARK: For tests
        .target(name: "ErrandRecording", dependencies: ["ErrandCore", "ErrandFormats", "ErrandRedaction"]),
        .target(name: "ErrandTesting", dependencies: ["ErrandCore", "ErrandFormats", "ErrandRecording"]),
        // Stubs for the URLSession of other code. Separate, so that other tests link no FoundationNetworking on Linux.
        .target(name: "ErrandURLSessionTesting", dependencies: ["ErrandCore", "ErrandTesting", "ErrandURLSession"]),
        .target(
            name: "ErrandMockServer",
            dependencies: [
                "ErrandCore", "ErrandFormats", "ErrandTesting",
                .product(name: "NIOCore", package: "swift-nio", condition: .when(traits: ["MockServer"])),
                .product(name: "NIOPosix", package: "swift-nio", condition: .when(traits: ["MockServer"])),
                .product(name: "NIOHTTP1", package: "swift-nio", condition: .when(traits: ["MockServer"])),
                .product(
                    name: "NIOFoundationEssentialsCompat", package: "swift-nio", condition: .when(traits: ["MockServer"])),
                .product(name: "NIOTLS", package: "swift-nio", condition: .when(traits: ["MockServer"])),
                .product(name: "NIOHTTP2", package: "swift-nio-http2", condition: .when(traits: ["MockServer"])),
                .product(name: "NIOHPACK", package: "swift-nio-http2", condition: .when(traits: ["MockServer"])),
                .product(name: "NIOSSL", package: "swift-nio-ssl", condition: .when(traits: ["MockServer"])),
                .product(name: "X509", package: "swift-certificates", condition: .when(traits: ["MockServer"])),
                .product(name: "SwiftASN1", package: "swift-asn1", condition: .when(traits: ["MockServer"])),
                .product(name: "Crypto", package: "swift-crypto", condition: .when(traits: ["MockServer"])),
            ]
        ),
        // The common part of the suites.
        .target(name: "ErrandBehaviors"),
        .target(name: "ErrandConformance", dependencies: ["ErrandBehaviors", "ErrandCore", "ErrandTesting"]),
        // Separate, so that a test of a store links no stubs.
        .target(
            name: "ErrandStoreConformance",
            dependencies: ["ErrandAuth", "ErrandBehaviors", "ErrandCache", "ErrandCore", "ErrandMiddleware"]
        ),

        // MARK: Tests
        // The counters of the allocator.
        .systemLibrary(name: "CMalloc", path: "Tests/CMalloc"),
        .target(
            name: "TestSupport",
            dependencies: [
                "CMalloc", "ErrandCore", "ErrandMockServer", "ErrandNIO", "ErrandTesting", "ErrandURLSession",
                .product(name: "Logging", package: "swift-log", condition: .when(traits: ["Telemetry"])),
                .product(name: "Metrics", package: "swift-metrics", condition: .when(traits: ["Telemetry"])),
                .product(name: "Tracing", package: "swift-distributed-tracing", condition: .when(traits: ["Telemetry"])),
                .product(name: "NIOCore", package: "swift-nio", condition: .when(traits: ["MockServer"])),
                .product(name: "NIOPosix", package: "swift-nio", condition: .when(traits: ["MockServer"])),
                .product(name: "NIOTLS", package: "swift-nio", condition: .when(traits: ["MockServer"])),
                .product(name: "NIOSSL", package: "swift-nio-ssl", condition: .when(traits: ["MockServer"])),
            ],
            path: "Tests/TestSupport"
        ),
        .testTarget(name: "ErrandHashingTests", dependencies: ["ErrandHashing"]),
        .testTarget(name: "ErrandCoreTests", dependencies: ["Errand", "ErrandTesting", "TestSupport"]),
        .testTarget(name: "ErrandFormatsTests", dependencies: ["ErrandFormats", "ErrandTesting", "TestSupport"]),
        .testTarget(
            name: "ErrandMiddlewareTests",
            dependencies: [
                "Errand", "ErrandConformance", "ErrandStoreConformance", "ErrandTesting", "TestSupport",
                .product(name: "Logging", package: "swift-log", condition: .when(traits: ["Telemetry"])),
                .product(name: "Metrics", package: "swift-metrics", condition: .when(traits: ["Telemetry"])),
                .product(name: "Tracing", package: "swift-distributed-tracing", condition: .when(traits: ["Telemetry"])),
            ]
        ),
        .testTarget(
            name: "ErrandCompressionTests",
            dependencies: ["ErrandCompression", "ErrandCore", "ErrandMiddleware", "ErrandTesting", "TestSupport"]
        ),
        .testTarget(
            name: "ErrandAuthTests",
            dependencies: [
                "Errand", "ErrandAuth", "ErrandConformance", "ErrandStoreConformance", "ErrandTesting", "TestSupport",
                .product(name: "Crypto", package: "swift-crypto", condition: .when(traits: ["Auth"])),
                .product(name: "_CryptoExtras", package: "swift-crypto", condition: .when(traits: ["Auth"])),
            ]
        ),
        .testTarget(
            name: "ErrandCacheTests",
            dependencies: [
                "ErrandCache", "ErrandCore", "ErrandFormats", "ErrandMiddleware", "ErrandStoreConformance", "ErrandTesting", "TestSupport",
            ]
        ),
        .testTarget(
            name: "ErrandTransfersTests",
            dependencies: ["ErrandCore", "ErrandFormats", "ErrandHashing", "ErrandTesting", "ErrandTransfers", "TestSupport"]
        ),
        .testTarget(
            name: "ErrandSQLiteTests",
            dependencies: [
                "ErrandCache", "ErrandCore", "ErrandFormats", "ErrandSQLite", "ErrandStoreConformance", "ErrandTesting", "TestSupport",
            ]
        ),
        .testTarget(
            name: "ErrandTelemetryTests",
            dependencies: [
                "Errand", "ErrandConformance", "ErrandTesting", "TestSupport",
                .product(name: "Logging", package: "swift-log", condition: .when(traits: ["Telemetry"])),
                .product(name: "Metrics", package: "swift-metrics", condition: .when(traits: ["Telemetry"])),
                .product(name: "Tracing", package: "swift-distributed-tracing", condition: .when(traits: ["Telemetry"])),
            ]
        ),
        .testTarget(
            name: "ErrandRedactionTests",
            dependencies: [
                "Errand", "ErrandRedaction", "ErrandTesting", "TestSupport",
                .product(name: "Logging", package: "swift-log", condition: .when(traits: ["Telemetry"])),
            ]
        ),
        .testTarget(name: "ErrandRecordingTests", dependencies: ["Errand", "ErrandRecording", "ErrandTesting", "TestSupport"]),
        // Much load over much time, on clocks of their own: one after the other.
        .testTarget(name: "ErrandSimulationTests", dependencies: ["Errand", "ErrandTesting", "TestSupport"]),
        .testTarget(name: "ErrandAPITests", dependencies: ["Errand", "ErrandTesting", "TestSupport"]),
        .testTarget(name: "ErrandTestingTests", dependencies: ["Errand", "ErrandTesting", "TestSupport"]),
        .testTarget(
            name: "ErrandConformanceTests",
            dependencies: [
                "Errand", "ErrandConformance", "ErrandTesting", "TestSupport",
                .product(name: "Logging", package: "swift-log", condition: .when(traits: ["Telemetry"])),
                .product(name: "Metrics", package: "swift-metrics", condition: .when(traits: ["Telemetry"])),
                .product(name: "Tracing", package: "swift-distributed-tracing", condition: .when(traits: ["Telemetry"])),
            ]
        ),
        .testTarget(
            name: "ErrandStoreConformanceTests",
            dependencies: [
                "ErrandAuth", "ErrandCache", "ErrandCore", "ErrandMiddleware", "ErrandStoreConformance", "TestSupport",
            ]
        ),
        .testTarget(
            name: "ErrandMockServerTests",
            dependencies: ["ErrandCore", "ErrandMockServer", "ErrandNIO", "ErrandTesting", "TestSupport"]
        ),
        .testTarget(
            name: "ErrandNIOTests",
            dependencies: [
                "ErrandAuth", "ErrandCompression", "ErrandConformance", "ErrandMiddleware", "ErrandMockServer", "ErrandNIO",
                "ErrandTesting",
                "TestSupport",
                .product(name: "NIOCore", package: "swift-nio", condition: .when(platforms: swiftNIOPlatforms, traits: ["NIO"])),
                .product(name: "NIOPosix", package: "swift-nio", condition: .when(platforms: swiftNIOPlatforms, traits: ["NIO"])),
                .product(name: "NIOHPACK", package: "swift-nio-http2", condition: .when(platforms: swiftNIOPlatforms, traits: ["NIO"])),
                .product(name: "NIOHTTP2", package: "swift-nio-http2", condition: .when(platforms: swiftNIOPlatforms, traits: ["NIO"])),
                .product(name: "NIOEmbedded", package: "swift-nio", condition: .when(platforms: swiftNIOPlatforms, traits: ["NIO"])),
            ]
        ),
        // What holds for every transport: the tests run for each that is built.
        .testTarget(
            name: "ErrandTransportTests",
            dependencies: ["Errand", "ErrandConformance", "ErrandMockServer", "ErrandRecording", "ErrandTesting", "TestSupport"]
        ),
        .testTarget(
            name: "ErrandURLSessionTests",
            dependencies: [
                "ErrandAuth", "ErrandCompression", "ErrandConformance", "ErrandCore", "ErrandFormats", "ErrandMiddleware",
                "ErrandMockServer", "ErrandNIO", "ErrandTesting", "ErrandURLSession", "TestSupport",
            ]
        ),
        .testTarget(
            name: "ErrandURLSessionTestingTests",
            dependencies: [
                "ErrandConformance", "ErrandCore", "ErrandTesting", "ErrandURLSession", "ErrandURLSessionTesting", "TestSupport",
            ]
        ),
        // More than one module over sockets: faults, the servers of Tests/Servers/stand.py, load.
        .testTarget(
            name: "ErrandIntegrationTests",
            dependencies: [
                "Errand", "ErrandConformance", "ErrandHashing", "ErrandMockServer", "ErrandSQLite", "ErrandTesting", "TestSupport",
                .product(name: "Logging", package: "swift-log", condition: .when(traits: ["Telemetry"])),
                .product(name: "Metrics", package: "swift-metrics", condition: .when(traits: ["Telemetry"])),
                .product(name: "Tracing", package: "swift-distributed-tracing", condition: .when(traits: ["Telemetry"])),
                .product(name: "_CryptoExtras", package: "swift-crypto", condition: .when(traits: ["Auth"])),
            ]
        ),
        // An app's module whose code runs on the main actor unless it says otherwise.
        .testTarget(
            name: "MainActorAppTests",
            dependencies: ["Errand", "ErrandTesting"],
            swiftSettings: [.defaultIsolation(MainActor.self)]
        ),
        // The samples of the README and the guides (links to the files of ReadmeTests) in such a module.
        .testTarget(
            name: "MainActorSamplesTests",
            dependencies: [
                "Errand", "ErrandConformance", "ErrandMockServer", "ErrandRecording", "ErrandSQLite", "ErrandStoreConformance",
                "ErrandTesting", "ErrandURLSession", "ErrandURLSessionTesting",
                .product(name: "Logging", package: "swift-log", condition: .when(traits: ["Telemetry"])),
                .product(name: "Metrics", package: "swift-metrics", condition: .when(traits: ["Telemetry"])),
                .product(name: "_CryptoExtras", package: "swift-crypto", condition: .when(traits: ["Auth"])),
            ],
            swiftSettings: [.defaultIsolation(MainActor.self)]
        ),
        .testTarget(
            name: "ReadmeTests",
            dependencies: [
                "Errand", "ErrandConformance", "ErrandMockServer", "ErrandRecording", "ErrandSQLite", "ErrandStoreConformance",
                "ErrandTesting", "ErrandURLSession", "ErrandURLSessionTesting", "TestSupport",
                .product(name: "Logging", package: "swift-log", condition: .when(traits: ["Telemetry"])),
                .product(name: "Metrics", package: "swift-metrics", condition: .when(traits: ["Telemetry"])),
                .product(name: "Crypto", package: "swift-crypto", condition: .when(traits: ["SQLite"])),
                .product(name: "_CryptoExtras", package: "swift-crypto", condition: .when(traits: ["Auth"])),
            ]
        ),
    ],
    swiftLanguageModes: [.v6]
)

let upcomingFeatures = [
    "ExistentialAny",
    "InternalImportsByDefault",
    "MemberImportVisibility",
    "NonisolatedNonsendingByDefault",
    "InferIsolatedConformances",
]
for target in package.targets where target.type != .system {
    target.swiftSettings =
        (target.swiftSettings ?? []) + upcomingFeatures.map { .enableUpcomingFeature($0) } + [
            // The condition of the code over SwiftNIO.
            .define("SWIFT_NIO", .when(platforms: swiftNIOPlatforms, traits: ["NIO"])),
            .define("SWIFT_NIO", .when(traits: ["NIOEverywhere"])),
        ]
}
