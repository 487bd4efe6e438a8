internal import Crypto
internal import Foundation
internal import HTTPTypes
internal import NIOCore
internal import NIOFoundationEssentialsCompat
internal import NIOHTTPTypes
internal import Synchronization

/// Receives the content of one upload, and responds with its size and its SHA-256.
final class UploadHandler: ChannelInboundHandler {
    typealias InboundIn = HTTPRequestPart
    typealias OutboundOut = HTTPResponsePart

    private let received: Received
    private let folder: URL?
    private var head: HTTPRequest?
    private var hash = SHA256()
    private var bytes = 0
    private var file: (handle: FileHandle, url: URL)?

    init(_ received: Received, folder: URL?) { (self.received, self.folder) = (received, folder) }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        do {
            switch unwrapInboundIn(data) {
            case .head(let request):
                head = request
                try open()
            case .body(let buffer):
                hash.update(data: Data(buffer: buffer))
                bytes += buffer.readableBytes
                try file?.handle.write(contentsOf: Data(buffer: buffer))
            case .end: try finish(context: context)
            }
        } catch {
            respond(HTTPResponse(status: .internalServerError), Data("\(error)\n".utf8), context: context)
        }
    }

    func channelInactive(context: ChannelHandlerContext) {
        try? file?.handle.close()
        if let file { try? FileManager.default.removeItem(at: file.url) }
        context.fireChannelInactive()
    }

    private func open() throws {
        guard let folder, isUpload else { return }
        let url = folder.appendingPathComponent(UUID().uuidString + ".part")
        _ = FileManager.default.createFile(atPath: url.path, contents: nil)
        file = (try FileHandle(forWritingTo: url), url)
    }

    private var isUpload: Bool { head?.method == .post || head?.method == .put }

    private func finish(context: ChannelHandlerContext) throws {
        guard let head, isUpload else {
            return respond(HTTPResponse(status: .methodNotAllowed, headerFields: [.allow: "POST, PUT"]), Data(), context: context)
        }
        let digest = hash.finalize().map { ($0 < 16 ? "0" : "") + String($0, radix: 16) }.joined()
        let upload = UploadServer.Upload(path: head.path ?? "/", bytes: bytes, sha256: digest)
        if let file, let folder {
            try file.handle.close()
            let target = folder.appendingPathComponent(digest)
            try? FileManager.default.removeItem(at: target)
            try FileManager.default.moveItem(at: file.url, to: target)
            self.file = nil
        }
        received.uploads.withLock { $0.append(upload) }
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
        let response = HTTPResponse(status: .ok, headerFields: [.contentType: "application/json"])
        respond(response, try encoder.encode(upload) + Data("\n".utf8), context: context)
    }

    private func respond(_ response: HTTPResponse, _ body: Data, context: ChannelHandlerContext) {
        var response = response
        response.headerFields[.contentLength] = "\(body.count)"
        context.write(wrapOutboundOut(.head(response)), promise: nil)
        if !body.isEmpty { context.write(wrapOutboundOut(.body(ByteBuffer(data: body))), promise: nil) }
        context.writeAndFlush(wrapOutboundOut(.end(nil)), promise: nil)
    }
}
