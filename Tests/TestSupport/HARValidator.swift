internal import Foundation

/// Holds HTTP archives against the format's schema (`Tests/Schemas`), and has another program's reader read them.
public enum HARValidator {
    /// Why a test is skipped where ``isHere()`` is false.
    public static let missing = "python3 with jsonschema is not on this machine (scripts/setup)"

    private static let root = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent().deletingLastPathComponent()

    /// A Python that has what is needed; nil if there is none.
    private static func python() async -> String? {
        let inside = root.appending(path: ".build/servers-venv/bin/python3").path
        for path in [inside, Programs.find("python3")] {
            guard let path, FileManager.default.isExecutableFile(atPath: path) else { continue }
            if (try? await Programs.run(path, ["-c", "import jsonschema"])) != nil { return path }
        }
        return nil
    }

    public static func isHere() async -> Bool { await python() != nil }

    /// - Throws: ``ProgramFailure`` with what is wrong.
    public static func validate(_ paths: String...) async throws {
        guard let python = await python() else { throw ProgramFailure(program: "python3", status: -1, output: missing) }
        try await Programs.run(python, [root.appending(path: "Tests/Schemas/validate.py").path] + paths)
    }
}
