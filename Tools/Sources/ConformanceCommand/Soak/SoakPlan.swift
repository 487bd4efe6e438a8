import ErrandTesting

/// What one request of the soak does. It depends on the seed and the number of the request alone.
struct SoakPlan: Sendable, CustomStringConvertible {
    /// What the server sends. The path of the request names it.
    enum Reply: String, Sendable {
        // Sound.
        case whole, chunked, untilClose, slow, interim
        /// A whole response, and bytes after it that belong to none.
        case extra
        /// A status without waiting for the body of the request, and the end of the connection.
        case refuses
        // Broken.
        case closes, resets, truncates, resetsInBody, garbage
        // The deadline of the request must end these.
        case stalls, silent

        var isSound: Bool { [.whole, .chunked, .untilClose, .slow, .interim, .extra].contains(self) }
        var neverEnds: Bool { self == .stalls || self == .silent }
        var isBroken: Bool { !isSound && self != .refuses }
    }

    /// What the task does with its exchange.
    enum Client: Sendable {
        case collects
        /// Drops the response without reading its body.
        case drops
        /// Reads one chunk, and drops the rest.
        case leaves
        case isCancelledBefore
        case isCancelled(afterMicroseconds: Int)
        case hasDeadline(milliseconds: Int)
    }

    enum Upload: Sendable { case none, data, stream }

    let number: Int
    let reply: Reply
    let bodyBytes: Int
    let upload: Upload
    let uploadBytes: Int
    let client: Client
    /// Which of the servers gets it.
    let server: Int

    var description: String { "request \(number): \(reply) \(bodyBytes) bytes, upload \(upload) \(uploadBytes) bytes, client \(client)" }

    /// Every byte of the bodies has this value, so that a response that went to another request is seen.
    var byte: UInt8 { UInt8(truncatingIfNeeded: number) }
    var path: String { "/\(reply.rawValue)/\(bodyBytes)/\(byte)" }

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
        // All of it in one segment: what comes later may meet the next request, and no client can tell it from its response.
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

    /// Mostly small; at least 2, so that a body can break off within.
    private static func size(_ random: inout SeededGenerator) -> Int {
        switch Int.random(in: 0..<100, using: &random) {
        case ..<83: Int.random(in: 2..<2048, using: &random)
        case ..<98: Int.random(in: 2048..<65_536, using: &random)
        default: Int.random(in: 65_536..<524_288, using: &random)
        }
    }
}
