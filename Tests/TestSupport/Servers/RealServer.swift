internal import Foundation

/// Real servers on free ports of the loopback interface. `Tests/Servers/stand.py` starts them in groups, such as the proxies, when the
/// first test needs one of a group. They end with this process.
///
/// ```swift
/// @Suite(.enabled(if: RealServer.haproxy.isHere, Comment(rawValue: RealServer.haproxy.missing)))
/// ```
///
/// Where a server requires credentials, the user name is joe and the password is pw.
public struct RealServer: Sendable {
    /// httpbin, whose responses contain the request.
    public static let httpbin = RealServer(name: "httpbin", missing: "httpbin, gunicorn or python3 is not on this machine (scripts/setup)")

    /// haproxy, with these faults:
    ///
    /// | Path | Response |
    /// |---|---|
    /// | `/drop` | none; the connection stays open, or, unless ``dropsSilently``, is reset |
    /// | `/tarpit` | 500 after 2 s |
    /// | `/reject` | none; the connection is closed |
    /// | `/429`, `/503` | that status, with `Retry-After: 1` |
    /// | `/later` | 503 with `Retry-After: 30` |
    /// | `/flaky` | at random 200, or 503 with `Retry-After: 0` |
    /// | `/dead` | 503, because there is no backend server |
    public static let haproxy = RealServer(name: "haproxy", missing: "haproxy or python3 is not on this machine (apt-get install haproxy)")

    /// squid, a proxy for all servers on the loopback interface. ``port()`` is open; ``lockedPort()`` requires the password, by Digest or
    /// Basic; ``securePort()`` is open, and a proxy over TLS with ``certificate()``.
    public static let squid = RealServer(name: "squid", missing: "squid or python3 is not on this machine (apt-get install squid-openssl)")

    /// microsocks, a SOCKS 5 proxy that requires the password.
    public static let microsocks = RealServer(
        name: "microsocks", missing: "microsocks or python3 is not on this machine (apt-get install microsocks)")

    /// Apache, with `/letters.txt` (the alphabet a thousand times) and folders that require the password and contain
    /// `secret.txt`: `/basic/`; `/digest/`, which accepts no count of a nonce but the next one; `/brief/`, whose nonces expire
    /// after a second. ``securePort()`` speaks TLS.
    public static let apache = RealServer(name: "apache", missing: "apache2 or python3 is not on this machine (apt-get install apache2)")

    /// oidc-provider-mock, a server of OpenID Connect: any client may sign in anybody.
    public static let oidc = RealServer(name: "oidc", missing: "oidc-provider-mock or python3 is not on this machine (scripts/setup)")

    /// Authlib as a server of OAuth 2, which requires PKCE, revokes tokens, and knows devices and signed assertions:
    /// `Tests/Servers/oauth.py`.
    public static let oauth = RealServer(name: "oauth", missing: "authlib or python3 is not on this machine (scripts/setup)")

    /// moto, with S3, which checks signatures: ``accessKey()``.
    public static let moto = RealServer(name: "moto", missing: "moto or python3 is not on this machine (scripts/setup)")

    /// Apache with HTTP/2: ``securePort()`` by ALPN, ``port()`` without TLS. It has `/letters.txt`, `/large` (8 MiB), and `/count`, which
    /// responds with the length of the request's body.
    public static let apacheHTTP2 = RealServer(
        name: "apache-http2", missing: "apache2 with http2, or python3, is not on this machine (apt-get install apache2)")

    /// haproxy with HTTP/2 on ``securePort()``, in front of an Apache with HTTP/1.1 and the same paths as ``apacheHTTP2``.
    public static let haproxyHTTP2 = RealServer(
        name: "haproxy-http2", missing: "haproxy, apache2 or python3 is not on this machine (apt-get install haproxy apache2)")

    /// Caddy with HTTP/2 on ``securePort()``, and the files of ``apacheHTTP2``.
    public static let caddyHTTP2 = RealServer(
        name: "caddy-http2", missing: "caddy or python3 is not on this machine (apt-get install caddy)")

    /// Caddy, which serves the files of ``folder()``, with ranges. Below `/gzip/`, the same files are encoded for a client that accepts
    /// gzip, with the strong entity tag of the unencoded file.
    public static let caddy = RealServer(name: "caddy", missing: "caddy or python3 is not on this machine (apt-get install caddy)")

    /// tuspyserver, a server of tus 1.0 with uploads at `/files`. `/finished` lists the whole uploads: ``finishedUploads()``. It keeps the
    /// bytes of a broken request. `Tests/Servers/tus.py` says what is special.
    public static let tuspyserver = RealServer(
        name: "tuspyserver", missing: "tuspyserver or python3 is not on this machine (scripts/setup)")

    /// aiohttp-tus, a server of tus 1.0 with uploads at `/files`. `/finished` lists the whole uploads: ``finishedUploads()``. It keeps no
    /// byte of a broken request, and forgets whole uploads. `Tests/Servers/tus.py` says what is special.
    public static let aiohttpTus = RealServer(
        name: "aiohttp-tus", missing: "aiohttp-tus or python3 is not on this machine (scripts/setup)")

    private let name: String
    /// The reason to skip a test if ``isHere`` is false.
    public let missing: String

    /// Whether the server is installed. True also for an installed server that does not start; its address then throws.
    public var isHere: Bool { entry.missing == nil }

    /// Returns the server's port.
    ///
    /// - Throws: ``ProgramFailure`` for a server that did not start.
    public func port() throws -> Int { try known(entry.port) }

    /// Returns the port of ``squid`` that requires the password.
    ///
    /// - Throws: ``ProgramFailure`` for a server that did not start.
    public func lockedPort() throws -> Int { try known(entry.lockedPort) }

    /// Returns the port for TLS: of ``squid`` as a proxy, or of a server with HTTP/2.
    ///
    /// - Throws: ``ProgramFailure`` for a server that did not start.
    public func securePort() throws -> Int { try known(entry.securePort) }

    /// Returns the path of the certificate of ``securePort()``, which is its own authority.
    ///
    /// - Throws: ``ProgramFailure`` for a server that did not start.
    public func certificate() throws -> String { try known(entry.certificate) }

    /// Returns the identifier of the server's process: known for servers with HTTP/2.
    ///
    /// - Throws: ``ProgramFailure`` for a server that did not start.
    public func process() throws -> Int32 { try known(entry.process) }

    /// Returns the access key of joe, who may do everything in ``moto``.
    ///
    /// - Throws: ``ProgramFailure`` for a server that did not start.
    public func accessKey() throws -> (id: String, secret: String) { (try known(entry.accessKeyID), try known(entry.secretAccessKey)) }

    /// Returns the folder with the files of ``caddy``.
    ///
    /// - Throws: ``ProgramFailure`` for a server that did not start.
    public func folder() throws -> String { try known(entry.folder) }

    /// An upload that a server of tus received completely.
    public struct FinishedUpload: Decodable, Sendable, Equatable {
        /// The file name of the upload's metadata.
        public var name: String
        public var bytes: Int
        /// The SHA-256 in hexadecimal digits.
        public var sha256: String

        public init(name: String, bytes: Int, sha256: String) { (self.name, self.bytes, self.sha256) = (name, bytes, sha256) }
    }

    /// Returns the whole uploads of ``tuspyserver`` or ``aiohttpTus``, in the order of their ends.
    ///
    /// - Throws: ``ProgramFailure`` for a server that did not start; `DecodingError` for a server that responds otherwise.
    public func finishedUploads() throws -> [FinishedUpload] {
        let response = LoopbackPorts.ask(port: try port(), "GET /finished HTTP/1.0\r\n\r\n")
        let body = response.range(of: "\r\n\r\n").map { response[$0.upperBound...] } ?? ""
        return try JSONDecoder().decode([FinishedUpload].self, from: Data(body.utf8))
    }

    /// Starts the proxies.
    static func startProxies() { _ = Servers.proxies }

    /// Returns a URL of the server.
    ///
    /// - Throws: ``ProgramFailure`` for a server that did not start.
    public func url(_ path: String = "", host: String = "127.0.0.1") throws -> String { "http://\(host):\(try port())\(path)" }

    /// Whether ``haproxy`` drops requests silently, which requires a privilege.
    public var dropsSilently: Bool { entry.dropsSilently ?? false }

    // MARK: The output of stand.py

    private struct Entry: Decodable, Sendable {
        var missing: String?
        var failed: String?
        var port: Int?
        var lockedPort: Int?
        var securePort: Int?
        var certificate: String?
        var folder: String?
        var process: Int32?
        var dropsSilently: Bool?
        var accessKeyID: String?
        var secretAccessKey: String?
    }

    private var entry: Entry {
        let servers =
            switch name {
            case _ where Servers.proxyNames.contains(name): Servers.proxies
            case _ where Servers.peerNames.contains(name): Servers.peers
            case _ where Servers.accountNames.contains(name): Servers.accounts
            case _ where Servers.transferNames.contains(name): Servers.transfers
            default: Servers.others
            }
        return servers.entries[name] ?? Entry(failed: "stand.py does not tell of it")
    }

    private func known<Value>(_ value: Value?) throws -> Value {
        guard let value else { throw ProgramFailure(program: name, status: -1, output: entry.failed ?? entry.missing ?? "no port") }
        return value
    }

    /// The running script. It watches a pipe that only this process holds open, and ends when the pipe closes.
    private final class Servers: Sendable {
        static let proxyNames = ["microsocks", "squid"]
        static let proxies = Servers(proxyNames)
        static let peerNames = ["apache-http2", "caddy-http2", "haproxy-http2"]
        static let peers = Servers(peerNames)
        static let accountNames = ["moto", "oauth", "oidc"]
        static let accounts = Servers(accountNames)
        static let transferNames = ["aiohttp-tus", "caddy", "tuspyserver"]
        static let transfers = Servers(transferNames)
        static let others = Servers(["apache", "haproxy", "httpbin"])

        let entries: [String: Entry]
        private let process = Process()
        private let pipe = Pipe()

        private init(_ names: [String]) {
            func all(_ entry: Entry) -> [String: Entry] { Dictionary(uniqueKeysWithValues: names.map { ($0, entry) }) }
            guard let python = Programs.find("python3") else {
                entries = all(Entry(missing: "python3 is not on this machine"))
                return
            }
            let script = Checkout.root.appending(path: "Tests")
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
                // The script limits its own starting time, so that a line or the end of the output always arrives.
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
