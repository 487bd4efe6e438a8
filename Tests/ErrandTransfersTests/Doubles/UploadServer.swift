import ErrandCore
import ErrandHashing
import ErrandTesting
import Foundation
import Synchronization
import TestSupport

@testable import ErrandTransfers

/// A server that keeps uploads by tus or by the IETF draft, and that can be told to break off, to lose responses, or to lie.
final class UploadServer: HTTPTransport {
    /// An upload at the server.
    struct File: Sendable {
        var bytes = Data()
        var length: Int64?
        var isComplete = false
        var metadata: String?
        var isBusy = false
    }

    struct Behavior: Sendable {
        /// The numbers of body bytes after which the connections break off, one for each request with a body.
        var cuts: [Int?] = []
        /// The number of bytes that each cut takes away, as if the server had not yet stored the last bytes.
        var lagBytes = 0
        /// Whether a bit of the body is damaged on the way, one for each request with a body.
        var damages: [Bool] = []
        /// Whether each response is lost, one for each request.
        var losses: [Bool] = []
        /// Whether the creation reports the status 104.
        var informs = true
        /// The version that the status 104 names; `nil` for the version of the request.
        var version: String?
        /// The value of `Upload-Limit`.
        var limit: String?
        /// The beginning of the URL of each upload.
        var location = "/uploads/"
        /// Changes a response before it is sent.
        var change: @Sendable (Request, inout HTTPResponse, inout Data) -> Void = { _, _, _ in }
        /// Called before each chunk of a body is read.
        var beforeChunk: @Sendable () async throws -> Void = {}
        /// Called before each request is processed.
        var beforeRequest: @Sendable (Request) async throws -> Void = { _ in }
    }

    let uploadProtocol: UploadProtocol
    let capabilities: TransportCapabilities
    let behavior = Mutex(Behavior())
    let files = Mutex<[String: File]>([:])
    let requests = RecordingList<Request>()
    private let created = Counter()
    private let received = Mutex(0)
    private let overlaps = Mutex(0)

    init(_ uploadProtocol: UploadProtocol, informs: Bool = true) {
        self.uploadProtocol = uploadProtocol
        capabilities = informs ? [.informationalResponses] : []
    }

    func shutdown() async throws {}

    /// The number of body bytes that have arrived.
    var bytesReceived: Int { received.withLock { $0 } }
    /// The number of requests that arrived while another request of the same upload was in progress.
    var overlapCount: Int { overlaps.withLock { $0 } }
    /// The methods of the requests.
    var methods: [String] { requests.all.map(\.method.rawValue) }
    /// The contents of the complete uploads.
    var contents: [Data] { files.withLock { $0.values.filter(\.isComplete).map(\.bytes) } }
    /// The offset of each PATCH request.
    var offsets: [String] { requests.all.filter { $0.method == .patch }.compactMap { $0.headers[.uploadOffset] } }

    private var isTus: Bool { uploadProtocol == .tus }

    func send(_ request: Request) async throws -> Response {
        requests.record(request)
        let (behavior, isLost) = behavior.withLock { behavior in
            (behavior, behavior.losses.isEmpty ? false : behavior.losses.removeFirst())
        }
        try await behavior.beforeRequest(request)
        var (head, body) = try await respond(to: request, behavior)
        behavior.change(request, &head, &body)
        if isLost { throw lost(request) }
        return Response(head: head, data: body, request: request)
    }

    private func lost(_ request: Request) -> TransportError {
        TransportError(.connectionLost, phase: .response, message: "cut", request: request, delivery: .sent)
    }

    private func respond(to request: Request, _ behavior: Behavior) async throws -> (HTTPResponse, Data) {
        let path = request.url?.path ?? ""
        guard let file = files.withLock({ $0[path] }) else {
            return request.method == .post || request.method == .put
                ? try await create(request, behavior) : (HTTPResponse(status: .notFound), Data())
        }
        if file.isBusy { overlaps.withLock { $0 += 1 } }
        switch request.method {
        case .head:
            var head = HTTPResponse(status: .noContent)
            head.headerFields[.uploadOffset] = "\(file.bytes.count)"
            head.headerFields[.uploadLength] = file.length.map { "\($0)" }
            if !isTus { head.headerFields[.uploadComplete] = file.isComplete ? "?1" : "?0" }
            if !isTus { head.headerFields[.uploadLimit] = behavior.limit }
            return (head, Data())
        case .delete:
            files.withLock { $0[path] = nil }
            return (HTTPResponse(status: .noContent), Data())
        case .patch: return try await append(request, at: path, behavior)
        default: return (HTTPResponse(status: .methodNotAllowed), Data())
        }
    }

    private func create(_ request: Request, _ behavior: Behavior) async throws -> (HTTPResponse, Data) {
        let number = created.add()
        let path = files.withLock { files in
            let path = "\(behavior.location)\(number)"
            let key = (try? HTTPURL(path))?.path ?? path
            files[key] = File(
                length: request.headers[.uploadLength].flatMap { Int64($0) }, metadata: request.headers[.uploadMetadata], isBusy: true)
            return (key: key, location: path)
        }
        if !isTus, behavior.informs, capabilities.contains(.informationalResponses), let sink = request.options.eventSink {
            let log = ExchangeEventLog(sink, request: request.id)
            log.record(.start)
            var head = HTTPResponse(status: .init(code: 104))
            head.headerFields[.location] = path.location
            head.headerFields[.uploadLimit] = behavior.limit
            head.headerFields[.uploadDraftInteropVersion] = behavior.version ?? request.headers[.uploadDraftInteropVersion]
            log.record(.informationalResponse, response: head)
            log.record(.end)
        }
        var (head, body) = try await receive(request, at: path.key, behavior)
        if head.status.kind == .successful {
            if head.headerFields[.uploadComplete] != "?1" {
                head.status = .created
                head.headerFields[.uploadLimit] = isTus ? nil : behavior.limit
            }
            head.headerFields[.location] = path.location
            if isTus, request.body.isEmpty { head.headerFields[.uploadOffset] = nil }
        }
        if isTus, request.headers[.uploadLength] == "0" { files.withLock { $0[path.key]?.isComplete = true } }
        if head.status.kind != .successful { body = Data() }
        return (head, body)
    }

    private func append(_ request: Request, at path: String, _ behavior: Behavior) async throws -> (HTTPResponse, Data) {
        let present = files.withLock { $0[path]?.bytes.count ?? 0 }
        guard request.headers[.uploadOffset] == "\(present)" else {
            var head = HTTPResponse(status: .conflict)
            guard !isTus else { return (head, Data()) }
            head.headerFields[.contentType] = "application/problem+json"
            let type = "https://iana.org/assignments/http-problem-types#mismatching-upload-offset"
            return (head, Data(#"{"type":"\#(type)","expected-offset":\#(present)}"#.utf8))
        }
        files.withLock { $0[path]?.isBusy = true }
        return try await receive(request, at: path, behavior)
    }

    /// Reads the body of a request, and adds the bytes to an upload.
    private func receive(_ request: Request, at path: String, _ behavior: Behavior) async throws -> (HTTPResponse, Data) {
        defer { files.withLock { $0[path]?.isBusy = false } }
        let cut =
            request.body.isEmpty
            ? nil : self.behavior.withLock { $0.cuts.isEmpty ? nil : $0.cuts.removeFirst() }
        var (got, checked) = (0, Data())
        do {
            let source = try await request.body.openChecked()
            defer { source.abandon() }
            while true {
                try await behavior.beforeChunk()
                guard var chunk = try await source.next() else { break }
                if let cut { chunk = chunk.prefix(cut - got) }
                got += chunk.count
                received.withLock { $0 += chunk.count }
                checked += chunk
                if let cut, got >= cut { break }
            }
        } catch {
            files.withLock { $0[path]?.bytes += checked }
            throw error
        }
        if cut != nil {
            files.withLock { $0[path]?.bytes += checked.dropLast(behavior.lagBytes) }
            throw lost(request)
        }
        let isDamaged = self.behavior.withLock { $0.damages.isEmpty || request.body.isEmpty ? false : $0.damages.removeFirst() }
        if isDamaged, let first = checked.first { checked[checked.startIndex] = first ^ 1 }
        if let text = request.headers[.uploadChecksum], !isChecksum(text, of: checked) {
            return (HTTPResponse(status: .init(code: 460)), Data())
        }
        let (count, isComplete) = files.withLock { files in
            files[path]?.bytes += checked
            let count = files[path]?.bytes.count ?? 0
            let isComplete = isTus ? Int64(count) == files[path]?.length : request.headers[.uploadComplete] == "?1"
            files[path]?.isComplete = isComplete
            return (count, isComplete)
        }
        var head = HTTPResponse(status: isTus || !isComplete ? .noContent : .ok)
        head.headerFields[.uploadOffset] = isTus ? "\(count)" : nil
        if !isTus { head.headerFields[.uploadComplete] = isComplete ? "?1" : "?0" }
        return (head, isTus || !isComplete ? Data() : Data("stored \(count)".utf8))
    }

    private func isChecksum(_ text: String, of data: Data) -> Bool {
        text == "sha1 \(Data(OctetHash.of(data, by: .sha1)).base64EncodedString())"
            || text == "sha256 \(Data(OctetHash.of(data, by: .sha256)).base64EncodedString())"
    }
}
