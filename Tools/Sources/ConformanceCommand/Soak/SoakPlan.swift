import ErrandCore
import ErrandTesting

/// The plan of one request of the soak. The plan depends on the seed and the number of the request alone.
struct SoakPlan: Sendable, CustomStringConvertible {
    /// The kind of response that the server sends. The path of the request names the kind.
    enum Reply: String, Sendable {
        // Valid responses.
        case whole, chunked, untilClose, slow, interim
        /// The response has the body of the request.
        case echoes
        /// The stream is refused the first time. The second time, the response is whole.
        case refusesOnce
        /// The server sends GOAWAY after the whole response.
        case leaves
        /// The first time, a GOAWAY that does not include the stream takes the place of the response. The second time, the response is
        /// whole.
        case leavesBefore
        /// A whole response, with extra bytes after it.
        case extra
        /// A status before the body of the request, and then the end of the connection.
        case refuses
        // Broken responses.
        case closes, resets, truncates, resetsInBody, garbage
        /// REFUSED_STREAM, each time; RST_STREAM with CANCEL and with INTERNAL_ERROR; a GOAWAY that ends every stream.
        case refusesStream, cancels, fails, breaksOff
        // The deadline of the request must end these.
        case stalls, silent

        var isSound: Bool {
            switch self {
            case .whole, .chunked, .untilClose, .slow, .interim, .extra, .echoes, .refusesOnce, .leaves, .leavesBefore: true
            default: false
            }
        }
        var neverEnds: Bool { self == .stalls || self == .silent }
        var isBroken: Bool { !isSound && self != .refuses }
    }

    /// The way in which the task handles its exchange.
    enum Client: Sendable {
        case collects
        /// Drops the response without reading its body.
        case drops
        /// Reads one chunk, and drops the rest.
        case leaves
        case isCancelledBefore
        case isCancelled(afterMicroseconds: Int)
        case hasDeadline(milliseconds: Int)
        /// Sends over a separate transport, which is shut down while the call is in progress.
        case isShutDown(afterMicroseconds: Int)
    }

    /// The way in which an HTTP/2 server handles its connections.
    enum Manner: Int, CaseIterable, Sendable {
        /// The server follows the rules, and confirms the end of TLS.
        case polite
        /// The end of TLS is never confirmed.
        case mute
        /// Connections break off, with all their streams.
        case rough
        /// The server sends nothing after the handshake and the settings.
        case hole
        /// The server sends nothing at all, not even TLS.
        case deaf
    }

    enum Upload: Sendable { case none, data, stream }

    let number: Int
    let reply: Reply
    let bodyBytes: Int
    let upload: Upload
    let uploadBytes: Int
    let client: Client
    /// The index of the server that gets the request.
    let server: Int
    /// Whether another request on the same connection may end this request.
    private(set) var mayBeLost = false

    var description: String {
        "request \(number): \(reply) \(SafeText.counted(bodyBytes, "byte")), "
            + "upload \(upload) \(SafeText.counted(uploadBytes, "byte")), client \(client)"
    }

    /// The value of every byte of the bodies. With the number in the response, the value shows a response that went to another request.
    var byte: UInt8 { UInt8(truncatingIfNeeded: number) }
    var path: String { "/\(reply.rawValue)/\(bodyBytes)/\(number)" }

    init(_ number: Int, seed: UInt64, servers: Int) {
        var random = SeededGenerator(seed: seed &* 0x2545_F491_4F6C_DD1D &+ UInt64(number))
        self.number = number
        server = Int.random(in: 0..<servers, using: &random)
        let reply: Reply =
            switch Int.random(in: 0..<1000, using: &random) {
            case ..<740: .whole
            case ..<820: .chunked
            case ..<835: .untilClose
            case ..<850: .slow
            case ..<870: .interim
            case ..<900: .extra
            case ..<910: .refuses
            case ..<925: .closes
            case ..<940: .resets
            case ..<960: .truncates
            case ..<970: .resetsInBody
            case ..<985: .garbage
            case ..<993: .stalls
            default: .silent
            }
        self.reply = reply
        let bodyBytes = Self.size(&random)
        // All bytes fit in one segment. Later bytes could arrive after the next request, and be read as its response.
        self.bodyBytes = reply == .extra ? min(bodyBytes, 512) : bodyBytes
        switch Int.random(in: 0..<100, using: &random) {
        case ..<85: (upload, uploadBytes) = (.none, 0)
        case ..<93: (upload, uploadBytes) = (.data, Self.size(&random))
        default: (upload, uploadBytes) = (.stream, Self.size(&random))
        }
        switch Int.random(in: 0..<100, using: &random) {
        case _ where reply.neverEnds: client = .hasDeadline(milliseconds: Int.random(in: 5..<30, using: &random))
        case ..<78: client = .collects
        case ..<82: client = .drops
        case ..<86: client = .leaves
        case ..<88: client = .isCancelledBefore
        case ..<97: client = .isCancelled(afterMicroseconds: Int.random(in: 0..<3000, using: &random))
        default: client = .hasDeadline(milliseconds: Int.random(in: 1..<10, using: &random))
        }
    }

    /// A plan for the servers of HTTP/2, one for each manner.
    init(http2 number: Int, seed: UInt64) {
        var random = SeededGenerator(seed: seed &* 0x2545_F491_4F6C_DD1D &+ UInt64(number))
        self.number = number
        let manner: Manner =
            switch Int.random(in: 0..<1000, using: &random) {
            case ..<460: .polite
            case ..<930: .mute
            case ..<980: .rough
            case ..<995: .hole
            default: .deaf
            }
        server = manner.rawValue
        mayBeLost = manner == .rough
        let isShutDown = Int.random(in: 0..<1000, using: &random) < 2
        let reply = manner == .rough && Int.random(in: 0..<4, using: &random) == 0 ? Self.end(&random) : Self.http2Reply(&random)
        self.reply = isShutDown ? [.silent, .stalls, .slow].randomElement(using: &random) ?? .silent : reply
        let size = Self.size(&random)
        switch Int.random(in: 0..<100, using: &random) {
        case ..<85 where self.reply != .echoes: (upload, uploadBytes) = (.none, 0)
        case ..<93: (upload, uploadBytes) = (.data, Self.size(&random))
        default: (upload, uploadBytes) = (.stream, Self.size(&random))
        }
        bodyBytes = self.reply == .echoes ? uploadBytes : size
        let neverEnds = self.reply.neverEnds || manner == .hole || manner == .deaf
        switch Int.random(in: 0..<100, using: &random) {
        case _ where isShutDown: client = .isShutDown(afterMicroseconds: Int.random(in: 0..<20_000, using: &random))
        case ..<50 where neverEnds: client = .hasDeadline(milliseconds: Int.random(in: 5..<30, using: &random))
        case _ where neverEnds: client = .isCancelled(afterMicroseconds: Int.random(in: 0..<20_000, using: &random))
        case ..<76: client = .collects
        case ..<79: client = .drops
        case ..<82: client = .leaves
        case ..<84: client = .isCancelledBefore
        case ..<95: client = .isCancelled(afterMicroseconds: Int.random(in: 0..<6000, using: &random))
        default: client = .hasDeadline(milliseconds: Int.random(in: 1..<10, using: &random))
        }
    }

    private static func http2Reply(_ random: inout SeededGenerator) -> Reply {
        switch Int.random(in: 0..<1000, using: &random) {
        case ..<680: .whole
        case ..<780: .echoes
        case ..<800: .slow
        case ..<820: .interim
        case ..<830: .refuses
        case ..<850: .refusesOnce
        case ..<860: .refusesStream
        case ..<880: .cancels
        case ..<900: .fails
        case ..<920: .resetsInBody
        case ..<930: .leaves
        case ..<940: .leavesBefore
        case ..<970: .stalls
        default: .silent
        }
    }

    private static func end(_ random: inout SeededGenerator) -> Reply {
        [.closes, .resets, .breaksOff].randomElement(using: &random) ?? .closes
    }

    /// A random size, mostly small. It is at least 2, so that the body can break off within.
    private static func size(_ random: inout SeededGenerator) -> Int {
        switch Int.random(in: 0..<100, using: &random) {
        case ..<83: Int.random(in: 2..<2048, using: &random)
        case ..<98: Int.random(in: 2048..<65_536, using: &random)
        default: Int.random(in: 65_536..<524_288, using: &random)
        }
    }
}
