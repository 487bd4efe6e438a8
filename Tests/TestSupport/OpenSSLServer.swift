/// `openssl s_server` on a free port of the loopback interface: for handshakes that nginx would settle by a response.
public final class OpenSSLServer: Sendable {
    public let port: Int
    private let child: ChildServer

    /// - Parameters:
    ///   - certificates: the server shows the good one, and knows the authority.
    ///   - arguments: of `s_server`, beside those for port and certificate.
    ///   - servedFolder: where it is started, for `-HTTP`, which serves files that hold whole responses.
    /// - Throws: ``ProgramFailure`` if it does not start.
    public init(certificates: TestCertificates, arguments: [String], servedFolder: String? = nil) async throws {
        guard let openssl = TestCertificates.openssl else { throw ProgramFailure(program: "openssl", status: -1, output: "not here") }
        let folder = try TestFolder("openssl", removesItself: false)
        child = try ChildServer(
            folder: folder.path, servedFolder: servedFolder,
            command: [
                openssl, "s_server", "-accept", "127.0.0.1:0", "-cert", certificates.certificate(.good), "-key",
                certificates.key(.good), "-CAfile", certificates.authority,
            ] + arguments)
        // It says which port it was given: ACCEPT 127.0.0.1:40123
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

    public func stop() { child.stop() }

    /// Stops it, and returns when it has ended: by a signal, without a word to who is connected.
    public func stopped() async throws {
        stop()
        try await poll("the server to end", value: { child.hasEnded }) { $0 }
    }
}
