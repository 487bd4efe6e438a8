internal import ClientHarness
internal import ErrandCore
internal import ErrandURLSession
internal import Foundation
internal import Synchronization

#if canImport(FoundationNetworking)
internal import FoundationNetworking
#endif

/// Measures URLSession, and Errand's transport over URLSession. The program is separate, so that the other programs don't link
/// FoundationNetworking.
@main
struct URLSessionBenchmarks {
    static func main() {
        Harness.main { name, setting in
            switch name {
            case "urlsession": try URLSessionPeer(setting)
            case "urlsession-transport": URLSessionTransportPeer(setting)
            default: nil
            }
        }
    }
}

/// A stack of the transport over URLSession alone, with the number of connections of `URLSessionPeer`.
struct URLSessionTransportPeer: CallPeer {
    private let transport: URLSessionTransport
    private let stack: HTTPStack
    private let url: String

    init(_ setting: Setting) {
        let configuration = URLSessionConfiguration.ephemeral
        configuration.httpMaximumConnectionsPerHost = setting.atOnce
        transport = URLSessionTransport(configuration)
        (stack, url) = (HTTPStack(transport), setting.url)
    }

    func request(_ kind: Kind) async throws -> Int {
        let response = try await stack.send(Request(.get, url: url))
        guard response.status == .ok else { throw WrongResponse("status \(response.status.code)") }
        switch kind {
        case .get: return try await response.body.collect().count
        case .download:
            var bytes = 0
            for try await chunk in response.body { bytes += chunk.count }
            return bytes
        case .typed, .upload: throw WrongResponse("the transport over URLSession has no \(kind)")
        }
    }

    func shutdown() async throws { try await transport.shutdown() }
}

/// URLSession with default settings, except for no cache, no cookies and the number of connections.
struct URLSessionPeer: CallPeer {
    private let session: URLSession
    private let url: URL
    private let file: URL?

    init(_ setting: Setting) throws {
        guard let url = URL(string: setting.url) else { throw WrongResponse("no URL: \(setting.url)") }
        guard setting.authorityFile == nil else { throw WrongResponse("URLSession trusts the authorities of the system alone") }
        self.url = url
        file = setting.uploadFile.map { URL(fileURLWithPath: $0) }
        let configuration = URLSessionConfiguration.ephemeral
        configuration.httpMaximumConnectionsPerHost = setting.atOnce
        configuration.urlCache = nil
        configuration.httpCookieStorage = nil
        session = URLSession(configuration: configuration)
    }

    func request(_ kind: Kind) async throws -> Int {
        switch kind {
        case .get: return try await data().count
        case .typed: return try JSONDecoder().decode(Document.self, from: try await data()).checkedCount()
        case .download: return try await download()
        case .upload:
            guard let file else { throw WrongResponse("no file to upload") }
            var request = URLRequest(url: url)
            request.httpMethod = "PUT"
            request.timeoutInterval = 600
            let data = try await result { session.uploadTask(with: request, fromFile: file, completionHandler: $0) }
            return try WrongResponse.checked(uploaded: String(decoding: data, as: UTF8.self))
        }
    }

    private func data() async throws -> Data { try await result { session.dataTask(with: URLRequest(url: url), completionHandler: $0) } }

    private func result(
        of task: (@escaping @Sendable (Data?, URLResponse?, (any Error)?) -> Void) -> URLSessionTask
    ) async throws -> Data {
        try await withCheckedThrowingContinuation { continuation in
            task { data, response, error in
                guard let data, (response as? HTTPURLResponse)?.statusCode == 200 else {
                    return continuation.resume(throwing: error ?? WrongResponse("status \(String(describing: response))"))
                }
                continuation.resume(returning: data)
            }.resume()
        }
    }

    /// Counts the bytes by a delegate: a completion handler gets the body in one piece, which 4 GiB are too large for.
    private func download() async throws -> Int {
        let counter = Counter()
        let session = URLSession(configuration: session.configuration, delegate: counter, delegateQueue: nil)
        defer { session.finishTasksAndInvalidate() }
        return try await withCheckedThrowingContinuation { continuation in
            counter.begin(continuation)
            session.dataTask(with: URLRequest(url: url)).resume()
        }
    }

    func shutdown() async throws { session.invalidateAndCancel() }
}

/// Counts the bytes of a body.
private final class Counter: NSObject, URLSessionDataDelegate {
    private let state = Mutex<(bytes: Int, continuation: CheckedContinuation<Int, any Error>?)>((0, nil))

    func begin(_ continuation: CheckedContinuation<Int, any Error>) { state.withLock { $0.continuation = continuation } }

    func urlSession(_ session: URLSession, dataTask: URLSessionDataTask, didReceive data: Data) {
        state.withLock { $0.bytes += data.count }
    }

    func urlSession(_ session: URLSession, task: URLSessionTask, didCompleteWithError error: (any Error)?) {
        let (bytes, continuation) = state.withLock { state in
            defer { state.continuation = nil }
            return (state.bytes, state.continuation)
        }
        if let error { continuation?.resume(throwing: error) } else { continuation?.resume(returning: bytes) }
    }
}
