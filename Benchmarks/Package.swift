// swift-tools-version:6.2
import PackageDescription

// Measurements. `swift run -c release StackBenchmarks` prints a table; with `--check` it fails over budget.

let package = Package(
    name: "ErrandBenchmarks",
    platforms: [.macOS(.v15)],
    dependencies: [.package(name: "Errand", path: "..", traits: [])],
    targets: [
        .target(name: "CAllocations"),
        .executableTarget(
            name: "StackBenchmarks",
            dependencies: [
                "CAllocations", .product(name: "ErrandMiddleware", package: "Errand"), .product(name: "ErrandCore", package: "Errand"),
            ]
        ),
    ],
    swiftLanguageModes: [.v6]
)

for target in package.targets where target.name != "CAllocations" {
    target.swiftSettings = [
        "ExistentialAny", "InternalImportsByDefault", "MemberImportVisibility", "NonisolatedNonsendingByDefault",
        "InferIsolatedConformances",
    ].map { .enableUpcomingFeature($0) }
}
