// swift-tools-version:6.2
import PackageDescription

// The command, in a package of its own so that nobody's app resolves what it needs.

let package = Package(
    name: "errand-command",
    platforms: [.macOS(.v15)],
    products: [
        .executable(name: "errand", targets: ["ErrandCommand"]),
        .executable(name: "conformance", targets: ["ConformanceCommand"]),
    ],
    traits: [
        .trait(name: "Brotli", description: "The command decodes Brotli, with the system's library."),
        .trait(name: "Zstandard", description: "The command decodes Zstandard, with the system's library."),
        .trait(name: "SQLite", description: "The command keeps responses on the disk, with the system's SQLite."),
    ],
    dependencies: [
        .package(
            name: "Errand", path: "..",
            traits: [
                "Auth", "MockServer", "NIO", "ServiceLifecycle", "Telemetry", .trait(name: "Brotli", condition: .when(traits: ["Brotli"])),
                .trait(name: "SQLite", condition: .when(traits: ["SQLite"])),
                .trait(name: "Zstandard", condition: .when(traits: ["Zstandard"])),
            ]),
        .package(url: "https://github.com/apple/swift-argument-parser", from: "1.8.2"),
        .package(url: "https://github.com/apple/swift-crypto", "3.12.3"..<"5.0.0"),
        .package(url: "https://github.com/apple/swift-http-types", from: "1.8.0"),
        .package(url: "https://github.com/apple/swift-log", from: "1.16.2"),
        .package(url: "https://github.com/apple/swift-nio", from: "2.101.2"),
        .package(url: "https://github.com/apple/swift-nio-extras", from: "1.35.2"),
        .package(url: "https://github.com/apple/swift-nio-http2", from: "1.46.0"),
        .package(url: "https://github.com/apple/swift-nio-ssl", from: "2.37.6"),
        .package(url: "https://github.com/hummingbird-project/hummingbird", from: "2.28.1"),
        .package(url: "https://github.com/swift-server/swift-service-lifecycle", from: "2.13.0"),
    ],
    targets: [
        .target(
            name: "DemoServer",
            dependencies: [
                .product(name: "Crypto", package: "swift-crypto"),
                .product(name: "ErrandFormats", package: "Errand"),
                .product(name: "HTTPTypes", package: "swift-http-types"),
                .product(name: "Hummingbird", package: "hummingbird"),
                .product(name: "Logging", package: "swift-log"),
                .product(name: "NIOCore", package: "swift-nio"),
            ]
        ),
        .executableTarget(
            name: "ErrandCommand",
            dependencies: [
                "DemoServer",
                .product(name: "ArgumentParser", package: "swift-argument-parser"),
                .product(name: "Errand", package: "Errand"),
                .product(name: "ErrandNIO", package: "Errand"),
                .product(name: "ErrandRecording", package: "Errand"),
                .product(name: "ErrandSQLite", package: "Errand", condition: .when(traits: ["SQLite"])),
                .product(name: "ErrandTesting", package: "Errand"),
                .product(name: "HTTPTypes", package: "swift-http-types"),
                .product(name: "Hummingbird", package: "hummingbird"),
                .product(name: "Logging", package: "swift-log"),
                .product(name: "NIOCore", package: "swift-nio"),
                .product(name: "NIOHTTP1", package: "swift-nio"),
                .product(name: "NIOHTTP2", package: "swift-nio-http2"),
                .product(name: "NIOPosix", package: "swift-nio"),
                .product(name: "ServiceLifecycle", package: "swift-service-lifecycle"),
            ]
        ),
        // The counters of the allocator.
        .systemLibrary(name: "CAllocator"),
        // What shows that the library does what it promises, against public test data and under load.
        .executableTarget(
            name: "ConformanceCommand",
            dependencies: [
                "CAllocator",
                .product(name: "ArgumentParser", package: "swift-argument-parser"),
                .product(name: "Crypto", package: "swift-crypto"),
                .product(name: "Errand", package: "Errand"),
                .product(name: "ErrandFormats", package: "Errand"),
                .product(name: "ErrandMockServer", package: "Errand"),
                .product(name: "ErrandNIO", package: "Errand"),
                .product(name: "ErrandSQLite", package: "Errand", condition: .when(traits: ["SQLite"])),
                .product(name: "ErrandTesting", package: "Errand"),
                .product(name: "HTTPTypes", package: "swift-http-types"),
                .product(name: "Hummingbird", package: "hummingbird"),
                .product(name: "Logging", package: "swift-log"),
                .product(name: "NIOCore", package: "swift-nio"),
                .product(name: "NIOHPACK", package: "swift-nio-http2"),
                .product(name: "NIOHTTP1", package: "swift-nio"),
                .product(name: "NIOHTTP2", package: "swift-nio-http2"),
                .product(name: "NIOPosix", package: "swift-nio"),
                .product(name: "NIOSSL", package: "swift-nio-ssl"),
            ]
        ),
        // A server of resumable uploads, by interop version 6, over swift-nio-extras. Its tests start it.
        .executableTarget(
            name: "UploadPeer",
            dependencies: [
                .product(name: "Crypto", package: "swift-crypto"),
                .product(name: "HTTPTypes", package: "swift-http-types"),
                .product(name: "NIOCore", package: "swift-nio"),
                .product(name: "NIOFoundationEssentialsCompat", package: "swift-nio"),
                .product(name: "NIOHTTP1", package: "swift-nio"),
                .product(name: "NIOHTTPTypes", package: "swift-nio-extras"),
                .product(name: "NIOHTTPTypesHTTP1", package: "swift-nio-extras"),
                .product(name: "NIOPosix", package: "swift-nio"),
                .product(name: "NIOResumableUpload", package: "swift-nio-extras"),
            ]
        ),
        // Its README.md says what it is. A link at the root of the repository leads to it.
        .target(
            name: "Examples",
            dependencies: [
                .product(name: "Errand", package: "Errand"),
                .product(name: "ErrandTesting", package: "Errand"),
                .product(name: "Logging", package: "swift-log"),
            ],
            path: "Examples",
            exclude: ["README.md"]
        ),
        .testTarget(
            name: "ExamplesTests",
            dependencies: [
                "Examples", "DemoServer",
                .product(name: "Errand", package: "Errand"),
                .product(name: "ErrandTesting", package: "Errand"),
                .product(name: "ErrandURLSession", package: "Errand"),
                .product(name: "Logging", package: "swift-log"),
            ]
        ),
        .testTarget(
            name: "ConformanceCommandTests",
            dependencies: [
                "ConformanceCommand", .product(name: "ArgumentParser", package: "swift-argument-parser"),
                .product(name: "Crypto", package: "swift-crypto"), .product(name: "Errand", package: "Errand"),
                .product(name: "ErrandNIO", package: "Errand"), .product(name: "HTTPTypes", package: "swift-http-types"),
                .product(name: "Hummingbird", package: "hummingbird"),
                .product(name: "Logging", package: "swift-log"), .product(name: "NIOCore", package: "swift-nio"),
            ]
        ),
        .testTarget(
            name: "UploadPeerTests",
            dependencies: [
                "UploadPeer", .product(name: "Crypto", package: "swift-crypto"), .product(name: "Errand", package: "Errand"),
                .product(name: "HTTPTypes", package: "swift-http-types"),
            ]
        ),
        .testTarget(
            name: "ErrandCommandTests",
            dependencies: [
                "ErrandCommand", "DemoServer", .product(name: "Errand", package: "Errand"),
                .product(name: "ErrandMockServer", package: "Errand"),
                .product(name: "ErrandTesting", package: "Errand"),
            ],
            exclude: ["Snapshots"]),
    ],
    swiftLanguageModes: [.v6]
)

for target in package.targets where target.type != .system {
    target.swiftSettings = [
        "ExistentialAny", "InternalImportsByDefault", "MemberImportVisibility", "NonisolatedNonsendingByDefault",
        "InferIsolatedConformances",
    ].map { .enableUpcomingFeature($0) }
}
