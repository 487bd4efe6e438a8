#if AsyncHTTPClient && MockServer
internal import Errand
internal import ErrandMockServer
internal import Foundation
internal import TestSupport

/// A server of HTTP/2 whose frames are written by a test, and an authority that a transport can believe.
struct FrameServer {
    let server: ByteServer
    let folder: TestFolder
    let authorityFile: String

    var url: String { "https://127.0.0.1:\(server.port)/" }

    /// The authority and the certificate of all such servers: keys are made once.
    private static let certificate = Result { () throws -> (TestAuthority, TestCertificate) in
        let authority = try TestAuthority()
        return (authority, try authority.certificate())
    }

    static func start(
        protocols: [String] = ["h2"], _ makeScript: @escaping @Sendable () -> any ByteScript
    ) async throws -> FrameServer {
        let (authority, certificate) = try Self.certificate.get()
        let folder = try TestFolder("frames")
        let file = try folder.write(authority.certificatePEM, to: "authority.pem")
        return FrameServer(
            server: try await ByteServer(certificate: certificate, protocols: protocols, makeScript: makeScript), folder: folder,
            authorityFile: file)
    }

    /// Runs `body` with a server that writes `opening` as soon as a connection is there, and answers each request by `answer`.
    static func with<Result>(
        opening: [ByteAction], answering answer: @escaping @Sendable (H2Frame) -> [ByteAction] = { ok($0.stream) },
        configure: (inout AsyncHTTPClientTransport.Configuration) -> Void = { _ in },
        _ body: (AsyncHTTPClientTransport, FrameServer) async throws -> Result
    ) async throws -> Result {
        let server = try await start { FrameScript(opened: { opening }, answer: { $0.type == 1 ? answer($0) : [] }) }
        do {
            let result = try await withAHC {
                $0.tls.extraRootsPEMFiles = [server.authorityFile]
                configure(&$0)
            } _: {
                try await body($0, server)
            }
            await server.server.stop()
            return result
        } catch {
            await server.server.stop()
            throw error
        }
    }

    /// An empty response.
    static func ok(_ stream: UInt32) -> [ByteAction] { [.write(H2Frame.headers(stream, ends: true).bytes)] }

    func noConnectionIsOpen() async throws {
        try await poll("the connections to be closed", value: { server.openConnections }) { $0 == 0 }
    }
}
#endif
