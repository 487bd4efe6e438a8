public import Foundation

/// Public test vectors, which are stored outside this repository: in the folder that `ERRAND_SUITES` names, or in `../shared/suites`.
public enum Suites {
    /// The folder of the vectors; `nil` if there is none. The tests that need it are then skipped.
    public static let folder: URL? = {
        let named = ProcessInfo.processInfo.environment["ERRAND_SUITES"].map { URL(fileURLWithPath: $0) }
        let beside = Checkout.root.deletingLastPathComponent().appendingPathComponent("shared/suites")
        return [named, beside].compactMap { $0 }.first { FileManager.default.fileExists(atPath: $0.path) }
    }()

    /// The reason to skip a test that needs the vectors.
    public static let missing = "no test vectors: set ERRAND_SUITES to their folder"

    /// Decodes the value in one file.
    public static func load<Value: Decodable>(_ name: String, as type: Value.Type) throws -> Value {
        guard let folder else { throw CocoaError(.fileNoSuchFile) }
        return try JSONDecoder().decode(type, from: Data(contentsOf: folder.appendingPathComponent(name)))
    }
}
