internal import Foundation

/// Real servers on free ports of the loopback interface, which `Tests/Servers/stand.py` starts when the first test asks for one, all of
/// them at once, and ends with this process.
///
/// ```swift
/// @Suite(.enabled(if: Stand.haproxy.isHere, Comment(rawValue: Stand.haproxy.missing)))
/// ```
///
/// The name is joe and the password pw, wherever one is asked for.
public struct Stand: Sendable {
    /// httpbin, whose answers tell what it was asked.
    public static let httpbin = Stand(name: "httpbin", missing: "httpbin, gunicorn or python3 is not on this machine (scripts/setup)")

    /// haproxy, which misbehaves:
    ///
    /// | Path | Answer |
    /// |---|---|
    /// | `/drop` | none, and the connection stays; or is reset, if not ``dropsSilently`` |
    /// | `/tarpit` | 500 after 2 s |
    /// | `/reject` | none, and the connection is closed |
    /// | `/429`, `/503` | that status, with `Retry-After: 1` |
    /// | `/later` | 503 with `Retry-After: 30` |
    /// | `/flaky` | by chance 200, or 503 with `Retry-After: 0` |
    /// | `/dead` | 503: nobody is behind it |
    public static let haproxy = Stand(name: "haproxy", missing: "haproxy or python3 is not on this machine (apt-get install haproxy)")

    /// squid, a proxy for whatever is on the loopback interface: its ``port()`` is open, its ``lockedPort()`` wants the password.
    public static let squid = Stand(name: "squid", missing: "squid or python3 is not on this machine (apt-get install squid-openssl)")

    /// Apache, with `/letters.txt` (the alphabet a thousand times), the folder `/basic/` behind a password, and in it `secret.txt`.
    public static let apache = Stand(name: "apache", missing: "apache2 or python3 is not on this machine (apt-get install apache2)")

    private let name: String
    /// Why a test is skipped where ``isHere`` is false.
    public let missing: String

    /// Whether it can be had. A server that is on this machine and does not start counts as here: then its address throws.
    public var isHere: Bool { entry.missing == nil }

    /// - Throws: ``ProgramFailure`` for a server that did not start.
    public func port() throws -> Int { try known(entry.port) }

    /// Of ``squid``.
    ///
    /// - Throws: ``ProgramFailure`` for a server that did not start.
    public func lockedPort() throws -> Int { try known(entry.lockedPort) }

    /// - Throws: ``ProgramFailure`` for a server that did not start.
    public func url(_ path: String = "", host: String = "127.0.0.1") throws -> String { "http://\(host):\(try port())\(path)" }

    /// Whether ``haproxy`` drops without a word, which takes a privilege.
    public var dropsSilently: Bool { entry.dropsSilently ?? false }

    // MARK: What stand.py tells

    private struct Entry: Decodable, Sendable {
        var missing: String?
        var failed: String?
        var port: Int?
        var lockedPort: Int?
        var dropsSilently: Bool?
    }

    private var entry: Entry { Servers.shared.entries[name] ?? Entry(failed: "stand.py does not tell of it") }

    private func known(_ port: Int?) throws -> Int {
        guard let port else { throw ProgramFailure(program: name, status: -1, output: entry.failed ?? entry.missing ?? "no port") }
        return port
    }

    /// The script under way. It watches the pipe that only this process holds, and ends when that closes.
    private final class Servers: Sendable {
        static let shared = Servers(["apache", "haproxy", "httpbin", "squid"])

        let entries: [String: Entry]
        private let process = Process()
        private let pipe = Pipe()

        private init(_ names: [String]) {
            func all(_ entry: Entry) -> [String: Entry] { Dictionary(uniqueKeysWithValues: names.map { ($0, entry) }) }
            guard let python = Programs.find("python3") else {
                entries = all(Entry(missing: "python3 is not on this machine"))
                return
            }
            let script = URL(fileURLWithPath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
                .appendingPathComponent("Servers/stand.py")
            let output = Pipe()
            process.executableURL = URL(fileURLWithPath: python)
            process.arguments = [script.path] + names
            process.standardInput = pipe
            process.standardOutput = output
            process.standardError = FileHandle.nullDevice
            var line = Data()
            do {
                try process.run()
                try pipe.fileHandleForReading.close()
                // It has a limit of its own on starting, so that a line or the end comes in any case.
                while line.last != UInt8(ascii: "\n"), case let more = output.fileHandleForReading.availableData, !more.isEmpty {
                    line += more
                }
                entries = try JSONDecoder().decode([String: Entry].self, from: line)
            } catch {
                entries = all(Entry(failed: "stand.py does not work here: \(error)"))
            }
            for (name, entry) in entries.sorted(by: { $0.key < $1.key }) {
                if let missing = entry.missing { print("stand: \(name) is left out: \(missing)") }
            }
        }
    }
}
