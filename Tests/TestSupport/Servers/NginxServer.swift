public import Foundation

/// A real nginx on free ports of the loopback interface. There is one for the whole process, started by the first test that needs it.
///
/// Each response has the fields `X-Connection` (a number for each connection) and `X-Connection-Requests` (counted from 1 on the
/// connection).
///
/// | Path | Response |
/// |---|---|
/// | `/empty`, `/small`, `/300k`, `/5m` | a file of 0 bytes, 1,234 bytes, 300 KiB, 5 MiB |
/// | `/gzip/numbers`, `/br/numbers` | a text of 108,894 bytes, in gzip, and in Brotli (``hasBrotli``), where the request accepts that |
/// | `/slow/…` | the same file, at 100 KiB a second |
/// | `/no-content` | 204 |
/// | `/missing` | 404 with JSON |
/// | `/problem` | 422 with `application/problem+json` |
/// | `/echo…` | method, target and the field `X-Test` of the request, one per line |
/// | `/fields` | `X-Twice` twice, `X-Text` in UTF-8 |
/// | `/limited` | 413 for a declared body over 1 KiB |
/// | `/put/…` | stores the body of a PUT (``haveUploads``) |
public final class NginxServer: Sendable {
    /// The ports of the server.
    public enum Listener: Int, Sendable, CaseIterable {
        /// Clear text.
        case plain
        /// TLS with HTTP/2 by ALPN and a good certificate.
        case tls
        case selfSigned
        case expired
        case wrongHost
        /// One request for each connection.
        case once
        /// TLS. Responds with status 400 to a client without a certificate of the authority; otherwise with the certificate's name.
        case mutualTLS

        var isTLS: Bool { self != .plain && self != .once }
    }

    public let certificates: TestCertificates
    private let folder: String
    private let ports: [Int]
    private let child: ChildServer

    // MARK: Availability

    private static let program = Programs.find("nginx")
    /// Whether nginx and openssl are installed.
    public static let isHere = program != nil && OpenSSLCertificate.program != nil
    /// The reason to skip a test if ``isHere`` is false.
    public static let missing = "nginx or openssl is not on this machine (apt-get install nginx-light openssl)"

    private static let brotliModule = "/usr/lib/nginx/modules/ngx_http_brotli_filter_module.so"
    /// Whether nginx and its module for Brotli are installed.
    public static let hasBrotli = isHere && FileManager.default.fileExists(atPath: brotliModule)
    /// The reason to skip a test if ``hasBrotli`` is false.
    public static let hasNoBrotli = "nginx has no module for Brotli on this machine (apt-get install libnginx-mod-http-brotli-filter)"

    private static let starting = Task { try await start() }

    /// Returns the server of this process.
    ///
    /// - Throws: the error of starting it, at each call.
    public static func shared() async throws -> NginxServer { try await starting.value }

    /// Whether nginx was built with the module that stores the bodies of PUT requests.
    public let haveUploads: Bool

    /// Returns whether an nginx is installed that stores the bodies of PUT requests.
    public static func storesUploads() async throws -> Bool {
        guard isHere else { return false }
        return try await shared().haveUploads
    }

    /// The reason to skip a test if ``storesUploads()`` returns false.
    public static let storesNothing = "nginx was built without http_dav_module (apt-get install nginx-light)"

    // MARK: Addresses

    public func port(_ listener: Listener) -> Int { ports[listener.rawValue] }

    /// Returns a URL of the server.
    ///
    /// - Parameter host: `localhost`, a host below it, or `127.0.0.1`; the certificate contains them. Of TLS, `strict.localhost`
    ///   responds with the status 421 on a connection whose handshake has named another host.
    public func url(_ path: String, _ listener: Listener = .plain, host: String = "127.0.0.1") -> String {
        "\(listener.isTLS ? "https" : "http")://\(host):\(port(listener))\(path)"
    }

    public static let empty = Data()
    public static let small = Data.seeded(1_234, seed: 11)
    public static let middle = Data.seeded(300 * 1024, seed: 12)
    public static let large = Data.seeded(5 * 1024 * 1024, seed: 13)
    /// The numbers from 1 to 20,000, one per line.
    public static let numbers = Data((1...20_000).map { "\($0)\n" }.joined().utf8)

    /// Adds a file, which has the path `/name`.
    ///
    /// - Parameter modified: the time of modification. Default: an hour ago, so that `Last-Modified` is a strong validator.
    public func publish(_ content: Data, as name: String, modified: Date = Date(timeIntervalSinceNow: -3_600)) throws {
        let path = "\(folder)/www/\(name)"
        try content.write(to: URL(fileURLWithPath: path + ".new"))
        try FileManager.default.setAttributes([.posixPermissions: 0o644, .modificationDate: modified], ofItemAtPath: path + ".new")
        guard rename(path + ".new", path) == 0 else { throw SystemError("rename") }
    }

    /// Returns the body that was sent with PUT to `/put/name`.
    public func stored(_ name: String) throws -> Data { try Data(contentsOf: URL(fileURLWithPath: "\(folder)/put/\(name)")) }

    // MARK: Start

    private init(folder: String, certificates: TestCertificates, ports: [Int], child: ChildServer, haveUploads: Bool) {
        (self.folder, self.certificates, self.ports, self.child) = (folder, certificates, ports, child)
        self.haveUploads = haveUploads
    }

    private static func start() async throws -> NginxServer {
        guard let program else { throw CocoaError(.fileNoSuchFile) }
        let haveUploads = try await Programs.run(program, ["-V"]).contains("http_dav_module")
        var failures: [String] = []
        for _ in 0..<5 {
            let folder = try TestFolder("nginx", removesItself: false)
            try folder.folder("www")
            for (name, content) in [("empty", empty), ("small", small), ("300k", middle), ("5m", large), ("numbers", numbers)] {
                try folder.write(content, to: "www/\(name)")
            }
            try folder.folder("put", writable: true)
            try folder.folder("temporary", writable: true)
            let certificates = try await TestCertificates.make(in: try folder.folder("certificates"))
            let ports = try LoopbackPorts.free(Listener.allCases.count)
            let token = UUID().uuidString
            let configuration = configuration(
                folder: folder.path, ports: ports, certificates: certificates, token: token, haveUploads: haveUploads)
            let path = try folder.write(configuration, to: "nginx.conf")
            let child = try ChildServer(folder: folder.path, command: [program, "-p", folder.path, "-c", path])
            if try await responds(with: token, port: ports[Listener.plain.rawValue], child: child) {
                return NginxServer(
                    folder: folder.path, certificates: certificates, ports: ports, child: child, haveUploads: haveUploads)
            }
            failures.append(child.log)  // most likely another program took one of the ports: try others
            child.stop()
        }
        throw ProgramFailure(program: program, status: -1, output: failures.joined(separator: "\n"))
    }

    /// Waits until this server, and no other, responds. Returns false after 10 s, or if it failed to start.
    private static func responds(with token: String, port: Int, child: ChildServer) async throws -> Bool {
        let end = ContinuousClock.now.advanced(by: .seconds(10))
        while ContinuousClock.now < end {
            if child.log.contains("[emerg]") { return false }
            if LoopbackPorts.ask(port: port, "GET /token HTTP/1.0\r\n\r\n").contains(token) { return true }
            try await Task.sleep(for: .milliseconds(10))
        }
        return false
    }

    private static func configuration(
        folder: String, ports: [Int], certificates: TestCertificates, token: String, haveUploads: Bool
    ) -> String {
        func address(_ listener: Listener) -> String { "127.0.0.1:\(ports[listener.rawValue])" }
        func identity(_ name: TestCertificates.Server) -> String {
            "ssl_certificate \(certificates.certificate(name)); ssl_certificate_key \(certificates.key(name));"
        }
        // If root starts nginx, its workers run as another user, which must exist.
        let user = getuid() != 0 ? "" : getpwnam("www-data") != nil ? "user www-data;" : "user root;"
        let temporary = ["client_body", "proxy", "fastcgi", "uwsgi", "scgi"]
            .map { "\($0)_temp_path \(folder)/temporary/\($0);" }.joined(separator: " ")
        return """
            \(hasBrotli ? "load_module \(brotliModule);" : "")
            daemon off; worker_processes 1; pid \(folder)/nginx.pid; error_log stderr; \(user)
            events { worker_connections 1024; }
            http {
              access_log off; root \(folder)/www; default_type application/octet-stream; \(temporary)
              client_max_body_size 128m; keepalive_requests 100000; keepalive_timeout 600;
              add_header X-Connection $connection always;
              add_header X-Connection-Requests $connection_requests always;
              server {
                listen \(address(.plain)); listen \(address(.tls)) ssl http2; server_name localhost www.localhost; \(identity(.good))
                location = /token { return 200 \(token); }
                location /gzip/ { alias \(folder)/www/; gzip on; gzip_types *; }
                location /br/ { alias \(folder)/www/; \(hasBrotli ? "brotli on; brotli_types *;" : "") }
                location /slow/ { alias \(folder)/www/; limit_rate 100k; }
                location = /no-content { return 204; }
                location = /missing { default_type application/json; return 404 '{"error":"no such thing"}'; }
                location = /problem {
                  default_type application/problem+json;
                  return 422 '{"type":"https://problems.example/amount","title":"Amount too large","status":422,"limit":100}';
                }
                location /echo { default_type text/plain; return 200 "$request_method\\n$request_uri\\n$http_x_test\\n"; }
                location = /fields {
                  add_header X-Twice one; add_header X-Twice two; add_header X-Text "Grüße";
                  return 200 fields;
                }
                location = /limited { client_max_body_size 1k; return 200 taken; }
                location /put/ { alias \(folder)/put/; \(haveUploads ? "dav_methods PUT;" : "") }
              }
              server {
                listen \(address(.tls)) ssl http2; server_name strict.localhost; \(identity(.good))
                ssl_client_certificate \(certificates.authority); ssl_verify_client optional;
              }
              server { listen \(address(.selfSigned)) ssl; \(identity(.selfSigned)) location / { return 200 no; } }
              server { listen \(address(.expired)) ssl; \(identity(.expired)) location / { return 200 no; } }
              server { listen \(address(.wrongHost)) ssl; \(identity(.wrongHost)) location / { return 200 no; } }
              server { listen \(address(.once)); keepalive_requests 1; }
              server {
                listen \(address(.mutualTLS)) ssl; \(identity(.good))
                ssl_client_certificate \(certificates.authority); ssl_verify_client on;
                location / { return 200 "$ssl_client_s_dn\\n"; }
              }
            }

            """
    }
}
