public import Foundation

/// Other programs that read and write multipart bodies: `stand/multipart_judge.py` of the vectors, and `Tests/Servers/multipart_bodies.py`.
public enum MultipartJudge {
    /// The reason to skip a test if ``isHere()`` returns false.
    public static let missing = "python3 with werkzeug, python-multipart and multipart is not on this machine (scripts/setup)"

    /// What one of the parsers read, or why it read nothing.
    public enum Verdict: Decodable, Sendable, Hashable {
        case parts([Part])
        case error(String)

        private struct Failure: Decodable { let error: String }

        public init(from decoder: any Decoder) throws {
            let container = try decoder.singleValueContainer()
            if let parts = try? container.decode([Part].self) {
                self = .parts(parts)
            } else {
                self = .error(try container.decode(Failure.self).error)
            }
        }
    }

    /// A part as a parser read it.
    public struct Part: Decodable, Sendable, Hashable {
        public let name: String?
        public let fileName: String?
        public let length: Int

        public init(name: String?, fileName: String?, length: Int) { (self.name, self.fileName, self.length) = (name, fileName, length) }

        public init(from decoder: any Decoder) throws {
            var container = try decoder.unkeyedContainer()
            name = try container.decodeIfPresent(String.self)
            fileName = try container.decodeIfPresent(String.self)
            _ = try container.decodeIfPresent(String.self)
            length = try container.decode(Int.self)
        }
    }

    /// What all parsers read.
    public struct Judgment: Sendable {
        /// Whether all found the same parts, with the same digests of their contents.
        public let agrees: Bool
        /// By the parsers' names.
        public let verdicts: [String: Verdict]
    }

    private static let script = Checkout.root.appending(path: "Tests/Servers/multipart_bodies.py").path
    private static let python = Checkout.root.appending(path: ".build/servers-venv/bin/python3").path

    /// Returns whether the parsers are installed.
    public static func isHere() async -> Bool {
        guard FileManager.default.isExecutableFile(atPath: python) else { return false }
        return (try? await Programs.run(python, ["-c", "import werkzeug, python_multipart, multipart"])) != nil
    }

    /// Has the parsers read a body.
    public static func judge(_ body: Data, contentType: String) async throws -> Judgment {
        guard let suites = Suites.folder else { throw CocoaError(.fileNoSuchFile) }
        let folder = try TestFolder("multipart")
        let path = try folder.write(body, to: "body")
        let text = try await Programs.run(python, [script, "judge", suites.appending(path: "stand").path, path, contentType])
        struct Agreement: Decodable { let agree: Bool }
        struct Verdicts: Decodable {
            let werkzeug: Verdict
            let multipart: Verdict
            let pythonMultipart: Verdict
            let email: Verdict
            enum CodingKeys: String, CodingKey { case werkzeug, multipart, pythonMultipart = "python-multipart", email }
        }
        let data = Data(text.utf8)
        let verdicts = try JSONDecoder().decode(Verdicts.self, from: data)
        return Judgment(
            agrees: try JSONDecoder().decode(Agreement.self, from: data).agree,
            verdicts: [
                "werkzeug": verdicts.werkzeug, "multipart": verdicts.multipart, "python-multipart": verdicts.pythonMultipart,
                "email": verdicts.email,
            ])
    }

    /// Returns bodies of other programs with their media types, by the programs' names: `werkzeug`, `email`, and `curl` if it is installed.
    public static func bodies() async throws -> [String: (body: Data, contentType: String)] {
        let folder = try TestFolder("multipart-bodies")
        try await Programs.run(python, [script, "make", folder.path] + [Programs.find("curl")].compactMap { $0 })
        var bodies: [String: (body: Data, contentType: String)] = [:]
        for name in ["werkzeug", "email", "curl"] {
            guard let body = try? folder.read("\(name).body") else { continue }
            bodies[name] = (body, String(decoding: try folder.read("\(name).type"), as: UTF8.self))
        }
        return bodies
    }
}
