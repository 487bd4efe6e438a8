internal import Foundation

/// Validates HTTP archives against the format's schema (`Tests/Schemas`), and reads them with another program's reader.
public enum HARValidator {
    /// The reason to skip a test if ``isHere()`` returns false.
    public static let missing = "python3 with jsonschema is not on this machine (scripts/setup)"

    /// Returns the path of a Python with the necessary module; `nil` if there is none.
    private static func python() async -> String? {
        let inside = Checkout.root.appending(path: ".build/servers-venv/bin/python3").path
        for path in [inside, Programs.find("python3")] {
            guard let path, FileManager.default.isExecutableFile(atPath: path) else { continue }
            if (try? await Programs.run(path, ["-c", "import jsonschema"])) != nil { return path }
        }
        return nil
    }

    /// Returns whether the validator is installed.
    public static func isHere() async -> Bool { await python() != nil }

    /// Validates the files at these paths.
    ///
    /// - Throws: ``ProgramFailure`` with the validator's output.
    public static func validate(_ paths: String...) async throws {
        guard let python = await python() else { throw ProgramFailure(program: "python3", status: -1, output: missing) }
        try await Programs.run(python, [Checkout.root.appending(path: "Tests/Schemas/validate.py").path] + paths)
    }
}
