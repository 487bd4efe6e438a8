internal import Foundation

/// Another program that signs requests with AWS Signature Version 4: `Tests/Servers/sigv4_judge.py`, over botocore.
public enum SignatureJudge {
    /// The reason to skip a test if ``isHere()`` returns false.
    public static let missing = "python3 with botocore is not on this machine (scripts/setup)"

    private static let python = Checkout.root.appending(path: ".build/servers-venv/bin/python3").path

    /// Returns whether botocore is installed.
    public static func isHere() async -> Bool {
        guard FileManager.default.isExecutableFile(atPath: python) else { return false }
        return (try? await Programs.run(python, ["-c", "import botocore.auth"])) != nil
    }

    /// Returns the `Authorization` field of each request.
    public static func fields(of requests: some Encodable) async throws -> [String] {
        let folder = try TestFolder("signatures")
        let path = try folder.write(try JSONEncoder().encode(requests), to: "requests.json")
        let text = try await Programs.run(python, [Checkout.root.appending(path: "Tests/Servers/sigv4_judge.py").path, path])
        return try JSONDecoder().decode([String].self, from: Data(text.utf8))
    }
}
