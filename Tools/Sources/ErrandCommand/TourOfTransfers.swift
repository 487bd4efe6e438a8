import Errand
import ErrandNIO
import Foundation
import Synchronization

/// The chapter of the tour about downloads that resume.
enum TourOfTransfers {
    static func walk(port: Int) async throws {
        let folder = FileManager.default.temporaryDirectory.appending(path: "errand-tour-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: false)
        defer { try? FileManager.default.removeItem(at: folder) }
        let target = folder.appending(path: "archive.bin")
        let request = try Request(.get, url: "http://127.0.0.1:\(port)/v1/download?bytes=1000000")
        try await withTransport(NIOTransport()) { transport in
            let fault = LostConnections()
            let stack = transport.wrapped(by: fault)

            Tour.step("The connection is lost, and the bytes stay on the disk", "Download(request, to: url, over: stack).file()")
            let first = Download(request, to: target, over: stack, policy: TransferPolicy(maxFailures: 0))
            do {
                _ = try await first.file()
                try Tour.expect(false, "no error")
            } catch let error as TransportError {
                try Tour.expect(
                    error.code == .connectionLost && first.resumption?.canContinue == true,
                    first.resumption?.description ?? "nothing is kept")
            }

            Tour.step("The next run of the app asks for the remaining bytes", "request.headers[.range]")
            let next = Download(request, to: target, over: stack)
            let file = try await next.file()
            let range = fault.ranges.last ?? ""
            try Tour.expect(
                file.bytes == 1_000_000 && file.status == .partialContent && range.hasPrefix("bytes=") && fault.ranges.count == 2,
                "\(range), then \(next.state)")
            let names = try FileManager.default.contentsOfDirectory(atPath: folder.path)
            try Tour.expect(names == ["archive.bin"], "only \(names.joined(separator: ", ")) is in the folder")
        }
    }

    /// Breaks the first body off after 300,000 bytes, and keeps the ranges of the requests.
    private final class LostConnections: HTTPMiddleware, Sendable {
        private struct Cut: BodyTransform {
            private var left = 300_000

            mutating func next(_ input: inout Data) throws -> Data? {
                guard !input.isEmpty else { return nil }
                guard left > 0 else { throw TransportError(.connectionLost, phase: .body, message: "the tour has cut the connection") }
                let part = Data(input.prefix(left))
                input.removeFirst(part.count)
                left -= part.count
                return part
            }

            mutating func finish(_ input: inout Data) throws -> Data? { input.isEmpty ? nil : try next(&input) }
        }

        private let seen = Mutex<[String]>([])
        /// The values of `Range`; empty for a request of the whole content.
        var ranges: [String] { seen.withLock { $0 } }

        func send(_ request: Request, to next: some HTTPSender) async throws -> Response {
            let isFirst = seen.withLock { seen in
                seen.append(request.headers[.range] ?? "")
                return seen.count == 1
            }
            var response = try await next.send(request)
            if isFirst { response.body = response.body.transformed(by: Cut(), length: response.body.expectedLength) }
            return response
        }
    }
}
