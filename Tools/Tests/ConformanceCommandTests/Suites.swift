import Foundation
import Testing

/// Public test data, which lie outside this repository: see `ERRAND_SUITES` in CONTRIBUTING.md.
enum Suites {
    static let missing: Comment = "no test vectors: set ERRAND_SUITES to their folder"

    /// The folder of one suite; `nil` if it is not there.
    static func folder(_ name: String) -> URL? {
        let named = ProcessInfo.processInfo.environment["ERRAND_SUITES"].map { URL(fileURLWithPath: $0) }
        var root = URL(fileURLWithPath: #filePath)
        for _ in 0..<5 { root.deleteLastPathComponent() }
        return [named, root.appendingPathComponent("shared/suites")].compactMap { $0?.appendingPathComponent(name) }
            .first { FileManager.default.fileExists(atPath: $0.path) }
    }
}
