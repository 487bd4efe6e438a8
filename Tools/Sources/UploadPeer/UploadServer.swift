public import Foundation
internal import NIOCore
internal import NIOHTTP1
internal import NIOHTTPTypesHTTP1
internal import NIOPosix
internal import NIOResumableUpload
internal import Synchronization

/// A server of resumable uploads, which others wrote: NIOResumableUpload of swift-nio-extras, with interop version 6 of the IETF draft.
///
/// Any path accepts an upload by POST or PUT. The response to a whole upload has the status 200, and names the size and the SHA-256:
///
///     {"bytes":4194304,"path":"/a","sha256":"…"}
///
/// What a client must know about this server:
///
/// - The final response has no `Upload-Complete`. The server sends `Upload-Incomplete: ?0` instead, a field of version 3.
/// - After the final response, the upload is unknown: HEAD responds with 404.
/// - A wrong offset is a 409 without problem details, and ends the upload: HEAD then responds with 404.
/// - A version that the server does not know is a 400, not an upload that can't be resumed.
/// - PATCH with another media type than `application/partial-upload` is a 400. The same goes for HEAD with a field of uploads.
/// - An append that does not complete the upload is a 201. Only OPTIONS responds with `Upload-Limit`, which is `min-size=0`.
/// - A request for an upload without the version is an ordinary request.
/// - The server does not read the rest of a request that it refuses. If the rest is long, the next request on the connection never gets a
///   response.
/// - The connection stays open, even after a request with `Connection: close`.
public final class UploadServer: Sendable {
    /// An upload that was received completely.
    public struct Upload: Sendable, Codable, Equatable {
        public var path: String
        public var bytes: Int
        /// The SHA-256 in hexadecimal digits.
        public var sha256: String

        public init(path: String, bytes: Int, sha256: String) { (self.path, self.bytes, self.sha256) = (path, bytes, sha256) }
    }

    private let channel: any Channel
    private let group: MultiThreadedEventLoopGroup
    private let received: Received
    /// The port on the loopback interface.
    public let port: Int

    private init(_ channel: any Channel, group: MultiThreadedEventLoopGroup, received: Received) {
        (self.channel, self.group, self.received) = (channel, group, received)
        port = channel.localAddress?.port ?? 0
    }

    /// Starts a server.
    ///
    /// - Parameters:
    ///   - port: the port; zero, the default, chooses a free port.
    ///   - folder: the folder for the content of each upload, in a file named by its SHA-256; `nil`, the default, keeps no content.
    public static func start(port: Int = 0, folder: URL? = nil) async throws -> UploadServer {
        let received = Received()
        let context = SharedContext()
        // With several threads, an append on another connection than the creation sometimes never gets a response.
        let group = MultiThreadedEventLoopGroup(numberOfThreads: 1)
        let channel = try await ServerBootstrap(group: group)
            .childChannelInitializer { channel in
                channel.eventLoop.makeCompletedFuture {
                    let pipeline = channel.pipeline.syncOperations
                    try pipeline.configureHTTPServerPipeline()
                    try pipeline.addHandler(HTTP1ToHTTPServerCodec(secure: false))
                    try pipeline.addHandler(
                        HTTPResumableUploadHandler(context: context.value(port: channel.localAddress?.port ?? 0)) { upload in
                            // Each upload has a channel of its own, which outlives the connections.
                            try? upload.pipeline.syncOperations.addHandler(UploadHandler(received, folder: folder))
                        })
                }
            }
            .bind(host: "127.0.0.1", port: port).get()
        return UploadServer(channel, group: group, received: received)
    }

    /// The uploads that were received completely, in the order of their ends.
    public var uploads: [Upload] { received.uploads.withLock { $0 } }

    /// The URL of a path.
    public func url(_ path: String = "/") -> String { "http://127.0.0.1:\(port)\(path)" }

    /// Stops listening, and closes all connections.
    public func stop() async {
        try? await channel.close().get()
        try? await group.shutdownGracefully()
    }
}

/// The uploads that were received completely.
final class Received: Sendable {
    let uploads = Mutex<[UploadServer.Upload]>([])
}

/// The context of all connections. The context needs the server's port, which is known when the first connection arrives.
private final class SharedContext: Sendable {
    private let made = Mutex<HTTPResumableUploadContext?>(nil)

    func value(port: Int) -> HTTPResumableUploadContext {
        made.withLock { made in
            let context = made ?? HTTPResumableUploadContext(origin: "http://127.0.0.1:\(port)")
            made = context
            return context
        }
    }
}
