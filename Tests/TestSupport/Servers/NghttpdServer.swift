/// `nghttpd` on a free port of the loopback interface: HTTP/2 in clear text, for clients that know it beforehand.
///
/// Its windows have 16 MiB for a stream, and 256 MiB for the connection. It serves the files of a folder, responds to a POST with
/// its body, and has the trailer `x-trailer: end` after each body.
public final class NghttpdServer: Sendable {
    private static let program = Programs.find("nghttpd")
    /// Whether nghttpd is installed.
    public static let isHere = program != nil
    /// The reason to skip a test if ``isHere`` is false.
    public static let missing = "nghttpd is not on this machine (apt-get install nghttp2-server)"

    /// The server's port.
    public let port: Int
    private let child: ChildServer

    /// Starts a server.
    ///
    /// - Parameters:
    ///   - files: the folder of the files.
    ///   - streams: how many streams it allows on one connection.
    public init(serving files: TestFolder, streams: Int = 100) async throws {
        guard let program = Self.program else { throw ProgramFailure(program: "nghttpd", status: -1, output: "not here") }
        var failures: [String] = []
        for _ in 0..<5 {
            let folder = try TestFolder("nghttpd", removesItself: false)
            let port = try LoopbackPorts.free(1)[0]
            let child = try ChildServer(
                folder: folder.path,
                command: [
                    program, "--no-tls", "-a", "127.0.0.1", "-d", files.path, "-m", "\(streams)", "--echo-upload", "--trailer",
                    "x-trailer: end", "-w", "24", "-W", "28", "\(port)",
                ])
            let end = ContinuousClock.now.advanced(by: .seconds(10))
            while ContinuousClock.now < end, !child.log.contains("Could not listen") {
                // It sends its settings, and refuses HTTP/1.
                if !LoopbackPorts.ask(port: port, "GET / HTTP/1.0\r\n\r\n").isEmpty {
                    (self.port, self.child) = (port, child)
                    return
                }
                try await Task.sleep(for: .milliseconds(10))
            }
            failures.append(child.log)  // most likely another program took the port: try another
            child.stop()
        }
        throw ProgramFailure(program: program, status: -1, output: failures.joined(separator: "\n"))
    }

    public func url(_ path: String) -> String { "http://127.0.0.1:\(port)\(path)" }

    /// Stops the server, and returns when it has ended.
    public func stopped() async throws {
        child.stop()
        try await poll("the server to end", value: { child.hasEnded }) { $0 }
    }
}
