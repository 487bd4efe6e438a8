public import Foundation

/// Public test vectors, which live outside this repository: in the folder that `ERRAND_SUITES` names, or in `../shared/suites`.
public enum Suites {
    /// The folder; nil where there is none, and the tests over it are skipped.
    public static let folder: URL? = {
        let named = ProcessInfo.processInfo.environment["ERRAND_SUITES"].map { URL(fileURLWithPath: $0) }
        let root = URL(fileURLWithPath: #filePath).deletingLastPathComponent().deletingLastPathComponent().deletingLastPathComponent()
        let beside = root.deletingLastPathComponent().appendingPathComponent("shared/suites")
        return [named, beside].compactMap { $0 }.first { FileManager.default.fileExists(atPath: $0.path) }
    }()

    /// Why a test over the vectors is skipped.
    public static let missing = "no test vectors: set ERRAND_SUITES to their folder"

    /// One file's value.
    public static func load<Value: Decodable>(_ name: String, as type: Value.Type) throws -> Value {
        guard let folder else { throw CocoaError(.fileNoSuchFile) }
        return try JSONDecoder().decode(type, from: Data(contentsOf: folder.appendingPathComponent(name)))
    }
}
