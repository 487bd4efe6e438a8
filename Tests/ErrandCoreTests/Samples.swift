import Errand
import ErrandTesting
import Foundation
import TestSupport

extension MiddlewarePlace {
    /// What the library's own middleware of this place declares; nothing where there is none.
    var libraryNeighbors: [MiddlewareNeighbor] { Self.library.first { $0.place == self }?.neighbors ?? [] }

    private static let library = StubTransport()
        .metrics().trace().concurrencyLimit(1).rateLimit().circuitBreaker().hedge().coalesce().redirect().retry()
        .fallback(data: Data(), statuses: [503]).validateStatus().timeout(.seconds(1)).profile().events { _ in nil }.traceCall().number()
        .server("https://a.example").layers
}

extension ScriptedBodySource {
    convenience init(chunks: [[UInt8]], then ending: Ending = .end) {
        self.init(chunks: chunks.filter { !$0.isEmpty }.map { Data($0) }, then: ending)
    }
}

/// The chunks of a body, as text.
func chunks(of source: any BodySource) async throws -> [String] {
    var all: [String] = []
    while let chunk = try await source.next() { all.append(String(decoding: chunk, as: UTF8.self)) }
    return all
}

/// A file that goes when this value does.
final class TemporaryFile: Sendable {
    let path: String

    /// With these bytes, and made longer by a hole up to `lengthBytes`.
    init(_ text: String = "", lengthBytes: UInt64? = nil) throws {
        path = FileManager.default.temporaryDirectory.appendingPathComponent("errand-test-\(UUID().uuidString)").path
        try Data(text.utf8).write(to: URL(fileURLWithPath: path))
        if let lengthBytes { try truncate(to: lengthBytes) }
    }

    func truncate(to lengthBytes: UInt64) throws {
        let handle = try FileHandle(forWritingTo: URL(fileURLWithPath: path))
        try handle.truncate(atOffset: lengthBytes)
        try handle.close()
    }

    /// The number of this process's descriptors for the file; `nil` if the system does not show descriptors.
    var openDescriptors: Int? {
        guard let names = try? FileManager.default.contentsOfDirectory(atPath: "/proc/self/fd") else { return nil }
        return names.count { (try? FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/fd/\($0)")) == path }
    }

    deinit { try? FileManager.default.removeItem(atPath: path) }
}

/// What `dump` prints.
func dumped(_ value: Any) -> String {
    var text = ""
    dump(value, to: &text)
    return text
}

extension Request {
    /// A request that any transport takes.
    static func sample(_ path: String = "/") -> Request {
        Request(head: HTTPRequest(method: .get, scheme: "https", authority: "a.example", path: path))
    }
}
