// swift-tools-version:6.2
import PackageDescription

// Programs over the library, in a package of their own so that nobody's app resolves what they need.

let package = Package(
    name: "ErrandExamples",
    platforms: [.macOS(.v15)],
    dependencies: [
        .package(name: "Errand", path: ".."),
        .package(url: "https://github.com/hummingbird-project/hummingbird", from: "2.28.1"),
        .package(url: "https://github.com/apple/swift-log", from: "1.16.2"),
    ],
    targets: [
        .executableTarget(
            name: "Tour",
            dependencies: [
                .product(name: "Errand", package: "Errand"),
                .product(name: "Hummingbird", package: "hummingbird"),
                .product(name: "Logging", package: "swift-log"),
            ]
        )
    ],
    swiftLanguageModes: [.v6]
)

for target in package.targets {
    target.swiftSettings = [
        "ExistentialAny", "InternalImportsByDefault", "MemberImportVisibility", "NonisolatedNonsendingByDefault", "InferIsolatedConformances",
    ].map { .enableUpcomingFeature($0) }
}
