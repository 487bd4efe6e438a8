/// `openssl s_server` on a free port of the loopback interface, for handshakes that must fail: nginx accepts them, and then
/// responds with an error.
public final class OpenSSLServer: Sendable {
    /// Whether the `openssl` command is installed.
    public static let isHere = OpenSSLCertificate.program != nil

    /// The server's port.
    public let port: Int
    private let child: ChildServer

    /// Starts a server.
    ///
    /// - Parameters:
    ///   - certificates: the server knows the authority.
    ///   - server: the certificate of the server: the good one by default.
    ///   - arguments: further arguments of `s_server`.
    ///   - servedFolder: the working folder, for `-HTTP`, which serves files that contain whole responses.
    /// - Throws: ``ProgramFailure`` if the server does not start.
    public init(
        certificates: TestCertificates, server: TestCertificates.Server = .good, arguments: [String], servedFolder: String? = nil
    ) async throws {
        guard let openssl = OpenSSLCertificate.program else { throw ProgramFailure(program: "openssl", status: -1, output: "not here") }
        let folder = try TestFolder("openssl", removesItself: false)
        child = try ChildServer(
            folder: folder.path, servedFolder: servedFolder,
            command: [
                openssl, "s_server", "-accept", "127.0.0.1:0", "-cert", certificates.certificate(server), "-key",
                certificates.key(server), "-CAfile", certificates.authority,
            ] + arguments)
        // The server prints its port: ACCEPT 127.0.0.1:40123
        let end = ContinuousClock.now.advanced(by: .seconds(10))
        while ContinuousClock.now < end {
            let accepted = child.log.split(separator: "\n").first { $0.hasPrefix("ACCEPT ") }
            if let port = accepted?.split(separator: ":").last.flatMap({ Int($0) }) {
                self.port = port
                return
            }
            try await Task.sleep(for: .milliseconds(10))
        }
        child.stop()
        throw ProgramFailure(program: openssl, status: -1, output: child.log)
    }

    /// Stops the server; returns immediately.
    public func stop() { child.stop() }

    /// Stops the server, and returns when it has ended. It is ended by a signal, without notifying its clients.
    public func stopped() async throws {
        stop()
        try await poll("the server to end", value: { child.hasEnded }) { $0 }
    }
}
