#if AsyncHTTPClient && MockServer
internal import Errand
internal import ErrandMockServer
internal import Foundation
internal import Synchronization
internal import TestSupport

/// A frame of HTTP/2 as bytes (RFC 9113, 4.1), valid or not.
struct H2Frame: Sendable, Hashable {
    var type: UInt8
    var flags: UInt8 = 0
    var stream: UInt32 = 0
    var payload: [UInt8] = []
    /// Nil for the payload's own.
    var declaredLength: Int?

    var bytes: [UInt8] {
        let length = declaredLength ?? payload.count
        return [UInt8(length >> 16 & 0xFF), UInt8(length >> 8 & 0xFF), UInt8(length & 0xFF), type, flags] + stream.octets + payload
    }

    static let endStream: UInt8 = 0x1
    static let endHeaders: UInt8 = 0x4
    static let ack: UInt8 = 0x1

    static func data(_ stream: UInt32, _ payload: [UInt8], ends: Bool = true) -> H2Frame {
        H2Frame(type: 0, flags: ends ? endStream : 0, stream: stream, payload: payload)
    }

    /// `block` is in HPACK: 0x88 is `:status: 200`.
    static func headers(_ stream: UInt32, _ block: [UInt8] = [0x88], ends: Bool = false) -> H2Frame {
        H2Frame(type: 1, flags: endHeaders | (ends ? endStream : 0), stream: stream, payload: block)
    }

    static func reset(_ stream: UInt32, code: UInt32) -> H2Frame { H2Frame(type: 3, stream: stream, payload: code.octets) }

    static func settings(_ values: [(UInt16, UInt32)] = []) -> H2Frame {
        H2Frame(type: 4, payload: values.flatMap { [UInt8($0.0 >> 8), UInt8($0.0 & 0xFF)] + $0.1.octets })
    }

    static let settingsAck = H2Frame(type: 4, flags: ack)

    static func maxStreams(_ count: UInt32) -> H2Frame { settings([(3, count)]) }

    static func pushPromise(_ stream: UInt32, promised: UInt32) -> H2Frame {
        // GET, https, /, and an authority
        let block: [UInt8] = [0x82, 0x87, 0x84, 0x01, 0x01, UInt8(ascii: "a")]
        return H2Frame(type: 5, flags: endHeaders, stream: stream, payload: promised.octets + block)
    }

    static let ping = H2Frame(type: 6, payload: Array(repeating: 7, count: 8))

    static func goAway(last: UInt32 = 0, code: UInt32 = 0) -> H2Frame { H2Frame(type: 7, payload: last.octets + code.octets) }

    static func windowUpdate(_ stream: UInt32, by increment: UInt32) -> H2Frame {
        H2Frame(type: 8, stream: stream, payload: increment.octets)
    }

    /// `:status` with these three digits.
    static func status(_ digits: String) -> [UInt8] { [0x08, UInt8(digits.utf8.count)] + Array(digits.utf8) }
}

extension UInt32 {
    fileprivate var octets: [UInt8] { [UInt8(self >> 24), UInt8(self >> 16 & 0xFF), UInt8(self >> 8 & 0xFF), UInt8(self & 0xFF)] }
}

extension Sequence<H2Frame> {
    /// All of them in one write.
    var together: [ByteAction] { [.write(flatMap(\.bytes))] }
    /// Each in a write of its own.
    var apart: [ByteAction] { map { .write($0.bytes) } }
}

/// Splits what a client writes into frames.
struct H2Reader {
    private var bytes: [UInt8] = []
    private var hasPreface = false

    mutating func read(_ more: [UInt8]) -> [H2Frame] {
        bytes += more
        if !hasPreface {
            guard bytes.count >= 24 else { return [] }
            bytes.removeFirst(24)
            hasPreface = true
        }
        var frames: [H2Frame] = []
        var start = 0
        while bytes.count - start >= 9 {
            let length = Int(bytes[start]) << 16 | Int(bytes[start + 1]) << 8 | Int(bytes[start + 2])
            guard bytes.count - start >= 9 + length else { break }
            let stream = bytes[start + 5..<start + 9].reduce(UInt32(0)) { $0 << 8 | UInt32($1) } & 0x7FFF_FFFF
            let payload = Array(bytes[start + 9..<start + 9 + length])
            frames.append(H2Frame(type: bytes[start + 3], flags: bytes[start + 4], stream: stream, payload: payload))
            start += 9 + length
        }
        bytes.removeFirst(start)
        return frames
    }
}

/// Does on each connection what closures say, frame by frame.
final class FrameScript: ByteScript {
    private var reader = H2Reader()
    private let open: () -> [ByteAction]
    private let answer: (H2Frame) -> [ByteAction]

    init(opened: @escaping () -> [ByteAction], answer: @escaping (H2Frame) -> [ByteAction]) { (open, self.answer) = (opened, answer) }

    func opened() -> [ByteAction] { open() }
    func received(_ bytes: [UInt8]) -> [ByteAction] { reader.read(bytes).flatMap(answer) }
}

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
