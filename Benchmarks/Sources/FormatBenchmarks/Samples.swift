import ErrandCore
import Synchronization

/// What the formats read: texts of words, the same in every run.
enum Samples {
    /// Chunks as a transport hands them on, whatever they divide.
    static let chunkBytes = 16 * 1024

    /// Words with spaces between them, `count` bytes of them. `seed` chooses the words.
    static func words(_ count: Int, seed: Int, from words: [String] = latin) -> String {
        var state = UInt64(truncatingIfNeeded: seed) &* 0x9E37_79B9_7F4A_7C15 &+ 1
        var text: [UInt8] = []
        while text.count < count {
            state = state &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
            let word = words[Int(state >> 33) % words.count]
            guard text.count + word.utf8.count <= count else { break }
            text += word.utf8
        }
        text += Array(repeating: UInt8(ascii: "."), count: count - text.count)
        return String(decoding: text, as: UTF8.self)
    }

    static let latin = [
        "the ", "stream ", "of ", "events ", "is ", "read ", "piece ", "by ", "until ", "server ", "closes ", "it ", "a ", "token ",
    ]
    static let greek = ["η ", "ροή ", "των ", "γεγονότων ", "διαβάζεται ", "κομμάτι ", "μέχρι ", "να ", "κλείσει "]

    /// A JSON text of `count` bytes, as a language model streams them.
    static func json(_ count: Int, seed: Int, from vocabulary: [String] = latin) -> String {
        let (start, end) = (#"{"choices":[{"delta":{"content":""#, #""}}]}"#)
        return start + words(count - start.utf8.count - end.utf8.count, seed: seed, from: vocabulary) + end
    }

    static func chunks(_ bytes: [UInt8]) -> [Data] {
        stride(from: 0, to: bytes.count, by: chunkBytes).map { Data(bytes[$0..<min($0 + chunkBytes, bytes.count)]) }
    }
}

/// The body of a response in chunks that stand ready.
final class ReadyChunks: BodySource {
    private let state: Mutex<ArraySlice<Data>>

    init(_ chunks: [Data]) { state = Mutex(chunks[...]) }

    func next() async throws -> Data? { state.withLock { $0.popFirst() } }
    func abandon() {}
}

/// Responds with the same chunks to every request.
struct ReadyTransport: HTTPTransport {
    let fields: HTTPFields
    let chunks: [Data]

    var capabilities: TransportCapabilities { [.deadlines, .phaseEvents] }
    func shutdown() async throws {}

    func send(_ request: Request) async throws -> Response {
        Response(
            head: HTTPResponse(status: .ok, headerFields: fields), body: ResponseBody(ReadyChunks(chunks)), request: request,
            exchange: ExchangeLifetime(outcome: .complete))
    }
}
