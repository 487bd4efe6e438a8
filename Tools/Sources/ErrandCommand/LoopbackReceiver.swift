import Foundation
import HTTPTypes
import Hummingbird
import Logging
import NIOCore
import Synchronization

/// Receives the request of the browser at the end of a sign-in, on a port that only this machine can reach ([RFC 8252, section
/// 7.3](https://www.rfc-editor.org/rfc/rfc8252#section-7.3)).
enum LoopbackReceiver {
    /// The browser did not return in time.
    struct TimedOut: Error, CustomStringConvertible {
        let seconds: Int
        var description: String { "nobody has signed in within \(seconds) s" }
    }

    /// Another program has the port.
    struct PortInUse: Error, CustomStringConvertible {
        let port: Int
        var description: String { "port \(port) of this machine is in use. Choose another port with --redirect-port" }
    }

    private enum Event: Sendable {
        case running(port: Int)
        case redirect(String)
        case timedOut
    }

    /// How long the page may take to reach the browser before the server stops.
    private static let courtesy: Duration = .milliseconds(100)

    /// The path of the URL that the browser is sent to. Other paths, such as the path of an icon, are not found.
    private static let path = "/callback"

    /// Listens, runs `open` with the URL to which the browser must be sent, and waits for the browser.
    ///
    /// - Parameters:
    ///   - port: the port; zero chooses a free port.
    ///   - seconds: the longest wait.
    ///   - belongs: whether a URL, with its query, belongs to the result of `open`. Other URLs, such as the URL of another page of the
    ///     browser, are refused and ignored.
    ///   - open: sends the browser to the page of the sign-in.
    /// - Returns: the result of `open`, and the URL that the browser returned to, with its query.
    /// - Throws: ``TimedOut``; ``PortInUse``; an error of `open`.
    static func redirect<Begun: Sendable>(
        port: Int = 0, within seconds: Int, where belongs: @escaping @Sendable (Begun, String) -> Bool,
        afterOpening open: (_ redirect: String) throws -> Begun
    ) async throws -> (begun: Begun, redirect: String) {
        let waiting = Mutex<Begun?>(nil)
        let (events, continuation) = AsyncStream.makeStream(of: Event.self)
        let router = Router()
        router.get(RouterPath(path)) { request, _ in
            let isExpected = waiting.withLock { $0.map { belongs($0, request.uri.string) } } ?? false
            if isExpected { continuation.yield(.redirect(request.uri.string)) }
            return Response(
                status: isExpected ? .ok : .badRequest, headers: [.contentType: "text/html; charset=utf-8", .cacheControl: "no-store"],
                body: .init(byteBuffer: ByteBuffer(string: isExpected ? page : otherPage)))
        }
        var logger = Logger(label: "auth")
        logger.logLevel = .critical
        let server = Application(
            router: router, configuration: .init(address: .hostname("127.0.0.1", port: port)),
            onServerRunning: { continuation.yield(.running(port: $0.localAddress?.port ?? 0)) }, logger: logger)
        return try await withThrowingTaskGroup(of: Void.self) { group in
            group.addTask {
                defer { continuation.finish() }
                do {
                    try await server.run()
                } catch let error as IOError where error.errnoCode == EADDRINUSE {
                    throw PortInUse(port: port)
                }
            }
            group.addTask {
                try await Task.sleep(for: .seconds(seconds))
                continuation.yield(.timedOut)
            }
            defer { group.cancelAll() }
            var begun: (base: String, value: Begun)?
            for await event in events {
                switch event {
                case .running(let port):
                    let base = "http://127.0.0.1:\(port)"
                    let value = try open(base + path)
                    begun = (base, value)
                    waiting.withLock { $0 = value }
                case .redirect(let target):
                    guard let begun else { continue }
                    try await Task.sleep(for: courtesy)
                    return (begun.value, begun.base + target)
                case .timedOut: throw TimedOut(seconds: seconds)
                }
            }
            try Task.checkCancellation()
            try await group.next()
            throw CancellationError()
        }
    }

    private static let otherPage = """
        <!doctype html><meta charset="utf-8"><title>errand</title><p>This page does not belong to the sign-in that errand waits for.</p>

        """
    private static let page = """
        <!doctype html><meta charset="utf-8"><title>errand</title><p>You can close this page and go back to the terminal.</p>

        """
}
