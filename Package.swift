// swift-tools-version:6.2
import PackageDescription

// One library, small modules. Which module may import which is held by `scripts/check-imports`.

let package = Package(
    name: "Errand",
    platforms: [.iOS(.v18), .macOS(.v15), .tvOS(.v18), .watchOS(.v11), .visionOS(.v2)],
    products: [
        .library(name: "Errand", targets: ["Errand"]),
        .library(name: "ErrandCore", targets: ["ErrandCore"]),
        .library(name: "ErrandFormats", targets: ["ErrandFormats"]),
        .library(name: "ErrandMiddleware", targets: ["ErrandMiddleware"]),
        .library(name: "ErrandAPI", targets: ["ErrandAPI"]),
        .library(name: "ErrandAsyncHTTPClient", targets: ["ErrandAsyncHTTPClient"]),
        .library(name: "ErrandTesting", targets: ["ErrandTesting"]),
    ],
    traits: [
        .default(enabledTraits: ["AsyncHTTPClient"]),
        .trait(
            name: "AsyncHTTPClient",
            description: "The transport over AsyncHTTPClient. On by default until the SwiftNIO transport stands."
        ),
        .trait(
            name: "ServiceLifecycle",
            description: "A transport as a service of swift-service-lifecycle, ended by a graceful shutdown."
        ),
    ],
    dependencies: [
        .package(url: "https://github.com/apple/swift-http-types", from: "1.8.0"),
        .package(url: "https://github.com/apple/swift-log", from: "1.16.2"),
        // Behind the trait `AsyncHTTPClient`.
        .package(url: "https://github.com/swift-server/async-http-client", from: "1.37.0"),
        .package(url: "https://github.com/apple/swift-nio", from: "2.101.2"),
        .package(url: "https://github.com/apple/swift-nio-extras", from: "1.35.2"),
        .package(url: "https://github.com/apple/swift-nio-ssl", from: "2.37.6"),
        // Behind the trait `ServiceLifecycle`.
        .package(url: "https://github.com/swift-server/swift-service-lifecycle", from: "2.13.0"),
    ],
    targets: [
        // MARK: The seam
        .target(
            name: "ErrandCore",
            dependencies: [.product(name: "HTTPTypes", package: "swift-http-types")]
        ),
        .target(
            name: "ErrandFormats",
            dependencies: [.product(name: "HTTPTypes", package: "swift-http-types")]
        ),

        // MARK: Middleware and typed calls
        .target(
            name: "ErrandMiddleware",
            dependencies: ["ErrandCore", "ErrandFormats", .product(name: "Logging", package: "swift-log")]
        ),
        .target(name: "ErrandAPI", dependencies: ["ErrandCore", "ErrandFormats", "ErrandMiddleware"]),

        // MARK: Transports
        .target(
            name: "ErrandAsyncHTTPClient",
            dependencies: [
                "ErrandCore",
                .product(
                    name: "AsyncHTTPClient",
                    package: "async-http-client",
                    condition: .when(traits: ["AsyncHTTPClient"])
                ),
                .product(name: "NIOCore", package: "swift-nio", condition: .when(traits: ["AsyncHTTPClient"])),
                .product(name: "NIOPosix", package: "swift-nio", condition: .when(traits: ["AsyncHTTPClient"])),
                .product(name: "NIOHTTP1", package: "swift-nio", condition: .when(traits: ["AsyncHTTPClient"])),
                .product(
                    name: "NIOFoundationEssentialsCompat",
                    package: "swift-nio",
                    condition: .when(traits: ["AsyncHTTPClient"])
                ),
                .product(
                    name: "NIOHTTPCompression",
                    package: "swift-nio-extras",
                    condition: .when(traits: ["AsyncHTTPClient"])
                ),
                .product(name: "NIOSSL", package: "swift-nio-ssl", condition: .when(traits: ["AsyncHTTPClient"])),
            ]
        ),

        // MARK: One import for an app
        .target(
            name: "Errand",
            dependencies: [
                "ErrandCore", "ErrandFormats", "ErrandMiddleware", "ErrandAPI", "ErrandAsyncHTTPClient",
                .product(
                    name: "ServiceLifecycle",
                    package: "swift-service-lifecycle",
                    condition: .when(traits: ["ServiceLifecycle"])
                ),
            ]
        ),

        // MARK: For tests
        .target(name: "ErrandTesting", dependencies: ["ErrandCore", "ErrandFormats"]),

        // MARK: Tests
        .target(name: "TestSupport", dependencies: ["ErrandCore", "ErrandTesting"], path: "Tests/TestSupport"),
        .testTarget(name: "ErrandCoreTests", dependencies: ["Errand", "ErrandTesting", "TestSupport"]),
        .testTarget(name: "ErrandFormatsTests", dependencies: ["ErrandFormats", "TestSupport"]),
        .testTarget(
            name: "ErrandMiddlewareTests",
            dependencies: ["Errand", "ErrandTesting", "TestSupport", .product(name: "Logging", package: "swift-log")]
        ),
        .testTarget(name: "ErrandAPITests", dependencies: ["Errand", "ErrandTesting", "TestSupport"]),
        .testTarget(name: "ErrandTestingTests", dependencies: ["Errand", "ErrandTesting"]),
        .testTarget(
            name: "ErrandAsyncHTTPClientTests",
            dependencies: [
                "Errand", "ErrandTesting", "TestSupport",
                .product(
                    name: "AsyncHTTPClient", package: "async-http-client", condition: .when(traits: ["AsyncHTTPClient"])),
            ]
        ),
        // Against the servers of Tests/Servers/stand.py.
        .testTarget(name: "ErrandServerTests", dependencies: ["Errand", "TestSupport"]),
        // An app's module whose code runs on the main actor unless it says otherwise.
        .testTarget(
            name: "MainActorAppTests",
            dependencies: ["Errand", "ErrandTesting"],
            swiftSettings: [.defaultIsolation(MainActor.self)]
        ),
        .testTarget(name: "ReadmeTests", dependencies: ["Errand", "ErrandTesting"]),
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
for target in package.targets {
    target.swiftSettings = (target.swiftSettings ?? []) + upcomingFeatures.map { .enableUpcomingFeature($0) }
}
