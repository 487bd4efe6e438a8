import ErrandMockServer
import Foundation
import NIOCore
import NIOHTTP2
import NIOPosix
import NIOSSL
import Synchronization

/// Servers of HTTP/2 over TLS on the loopback interface, one for each ``SoakPlan/Manner``.
final class HTTP2SoakServer: Sendable {
    /// The ports of the servers, in the order of the manners.
    let ports: [Int]
    /// The certificate to trust, in PEM.
    let certificatePEM: String
    private let channels = OpenChannels()
    private let journal = SoakJournal()

    var connections: Int { channels.all.count }
    /// The number of each action of the servers, by the name of the action.
    var deeds: [String: Int] { journal.deeds }

    /// Blocks until the servers listen.
    init() throws {
        let authority = try TestAuthority(name: "Errand soak")
        certificatePEM = authority.certificatePEM
        let leaf = try authority.certificate()
        var settings = TLSConfiguration.makeServerConfiguration(
            certificateChain: [.certificate(try NIOSSLCertificate(bytes: Array(leaf.certificatePEM.utf8), format: .pem))],
            privateKey: .privateKey(try NIOSSLPrivateKey(bytes: Array(leaf.keyPEM.utf8), format: .pem)))
        settings.applicationProtocols = ["h2"]
        let tls = try NIOSSLContext(configuration: settings)
        let group = MultiThreadedEventLoopGroup(numberOfThreads: 1)
        let (channels, journal) = (channels, journal)
        ports = try SoakPlan.Manner.allCases.map { manner in
            let listener = try ServerBootstrap(group: group)
                .serverChannelOption(.backlog, value: 512)
                .childChannelOption(.tcpOption(.tcp_nodelay), value: 1)
                .childChannelInitializer { channel in
                    channel.eventLoop.makeCompletedFuture {
                        channels.opened(channel)
                        try Self.start(channel, manner, tls, journal)
                    }
                }
                .bind(host: "127.0.0.1", port: 0).wait()
            return listener.localAddress?.port ?? 0
        }
    }

    private static func start(_ channel: any Channel, _ manner: SoakPlan.Manner, _ tls: NIOSSLContext, _ journal: SoakJournal) throws {
        let pipeline = channel.pipeline.syncOperations
        let socket = SoakSocket()
        try pipeline.addHandler(socket)
        journal.count("connections")
        guard manner != .deaf else { return socket.fallSilent() }
        try pipeline.addHandler(NIOSSLServerHandler(context: tls))
        let late = LateFrames()
        try pipeline.addHandler(ByteToMessageHandler(late))
        let connection = SoakConnection(socket, late, manner, journal)
        let bound = NIOLoopBound(connection, eventLoop: channel.eventLoop)
        let handler = NIOHTTP2Handler(
            mode: .server, eventLoop: channel.eventLoop, connectionConfiguration: connectionSettings, streamConfiguration: streamSettings
        ) { stream in
            stream.eventLoop.makeCompletedFuture {
                let id = try stream.syncOptions?.getOption(HTTP2StreamChannelOptions.streamID) ?? 1
                try stream.pipeline.syncOperations.addHandler(SoakStream(id, on: bound.value))
            }
        }
        try pipeline.addHandler(handler)
        try pipeline.addHandler(connection)
    }

    /// The limit for frames of the client. Here the client resets many streams, as it should, and is not an attacker.
    private static let manyFrames = 1_000_000_000

    private static var connectionSettings: NIOHTTP2Handler.ConnectionConfiguration {
        var settings = NIOHTTP2Handler.ConnectionConfiguration()
        settings.maximumSequentialEmptyDataFrames = manyFrames
        settings.maximumConnectionGlitches = manyFrames
        settings.controlFrameRateLimit.maximumCount = manyFrames
        settings.maximumRecentlyResetStreams = 10_000
        return settings
    }

    private static var streamSettings: NIOHTTP2Handler.StreamConfiguration {
        var settings = NIOHTTP2Handler.StreamConfiguration()
        settings.streamResetFrameRateLimit.maximumCount = manyFrames
        settings.streamErrorRateLimit.maximumCount = manyFrames
        return settings
    }
}

/// The record of the servers' actions, and of earlier requests that affect later ones.
final class SoakJournal: Sendable {
    private let state = Mutex<(deeds: [String: Int], refused: Set<Int>)>(([:], []))

    var deeds: [String: Int] { state.withLock(\.deeds) }

    func count(_ deed: String) { state.withLock { $0.deeds[deed, default: 0] += 1 } }

    /// Whether the request arrives for the first time. Then it is refused, and the client sends it once more.
    func refuses(_ number: Int) -> Bool {
        state.withLock { state in
            guard state.refused.insert(number).inserted else {
                state.refused.remove(number)
                return false
            }
            return true
        }
    }
}

/// The handler next to the socket. After it becomes silent, no bytes of the client arrive any more, and no bytes are sent.
final class SoakSocket: ChannelDuplexHandler {
    typealias InboundIn = ByteBuffer
    typealias OutboundIn = ByteBuffer

    private var isSilent = false
    private var context: ChannelHandlerContext?

    func handlerAdded(context: ChannelHandlerContext) { self.context = context }
    func handlerRemoved(context: ChannelHandlerContext) { self.context = nil }

    func fallSilent() { isSilent = true }

    /// Closes the socket without a message of TLS.
    func cut() { context?.close(promise: nil) }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) { if !isSilent { context.fireChannelRead(data) } }

    func write(context: ChannelHandlerContext, data: NIOAny, promise: EventLoopPromise<Void>?) {
        if isSilent { promise?.succeed() } else { context.write(data, promise: promise) }
    }

    /// A silent socket stays open until the client closes its side.
    func close(context: ChannelHandlerContext, mode: CloseMode, promise: EventLoopPromise<Void>?) {
        if isSilent { promise?.succeed() } else { context.close(mode: mode, promise: promise) }
    }
}

/// Discards frames that the client sent before it received a GOAWAY, on streams that the GOAWAY refuses. NIOHTTP2 ignores their
/// HEADERS, which it must read for the compression. But it treats their DATA as a violation, and ends the connection.
private final class LateFrames: ByteToMessageDecoder {
    typealias InboundOut = ByteBuffer

    /// The last stream that is not refused.
    var lastStream = HTTP2StreamID.maxID
    private var isAfterPreface = false

    func decode(context: ChannelHandlerContext, buffer: inout ByteBuffer) -> DecodingState {
        let start = buffer.readerIndex
        guard isAfterPreface else {
            guard let preface = buffer.readSlice(length: 24) else { return .needMoreData }
            isAfterPreface = true
            context.fireChannelRead(wrapInboundOut(preface))
            return .continue
        }
        // RFC 9113, section 4.1.
        guard let length = buffer.getInteger(at: start, as: UInt32.self), let type = buffer.getInteger(at: start + 3, as: UInt8.self),
            let stream = buffer.getInteger(at: start + 5, as: UInt32.self), let frame = buffer.readSlice(length: 9 + Int(length >> 8))
        else { return .needMoreData }
        // HEADERS and CONTINUATION are passed on.
        if type == 1 || type == 9 || HTTP2StreamID(Int(stream & 0x7FFF_FFFF)) <= lastStream {
            context.fireChannelRead(wrapInboundOut(frame))
        } else if type == 0, length >> 8 > 0 {
            // The window of the connection counts DATA of every stream (RFC 9113, section 6.8).
            var update = ByteBuffer(bytes: [0, 0, 4, 8, 0, 0, 0, 0, 0])
            update.writeInteger(length >> 8)
            context.writeAndFlush(NIOAny(update), promise: nil)
        }
        return .continue
    }
}

/// The last handler of a connection: sends GOAWAY, and receives the client's GOAWAY.
final class SoakConnection: ChannelInboundHandler {
    typealias InboundIn = HTTP2Frame
    typealias OutboundOut = HTTP2Frame

    let manner: SoakPlan.Manner
    let journal: SoakJournal
    private let socket: SoakSocket
    private let late: LateFrames
    private var context: ChannelHandlerContext?
    private var isLeaving = false
    private var hasEnded = false
    /// The last stream that has begun, and the last one that got a part of a response.
    private var lastStream = HTTP2StreamID.rootStream
    private var lastResponded = HTTP2StreamID.rootStream

    fileprivate init(_ socket: SoakSocket, _ late: LateFrames, _ manner: SoakPlan.Manner, _ journal: SoakJournal) {
        (self.socket, self.late, self.manner, self.journal) = (socket, late, manner, journal)
    }

    func handlerAdded(context: ChannelHandlerContext) { self.context = context }
    func handlerRemoved(context: ChannelHandlerContext) { self.context = nil }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        if case .goAway = unwrapInboundIn(data).payload, manner == .mute { endSilently() }
    }

    private func endSilently() {
        if !hasEnded { journal.count("ends without close_notify") }
        hasEnded = true
        socket.fallSilent()
    }

    func errorCaught(context: ChannelHandlerContext, error: any Error) {
        if error is NIOHTTP2Errors.StreamClosed || error is NIOHTTP2Errors.NoSuchStream || error is NIOHTTP2Errors.StreamError { return }
        if isLeaving {
            // After the last stream, NIOHTTP2 treats every frame as a violation, although the client may still read. The client ends
            // the connection.
            if error is NIOHTTP2Errors.IOOnClosedConnection, manner == .mute { endSilently() }
            return
        }
        if !(error is NIOSSLError) { journal.count("errors of connections (\(type(of: error)))") }
        socket.cut()
    }

    func begins(_ stream: HTTP2StreamID) {
        lastStream = max(lastStream, stream)
        if manner == .hole { socket.fallSilent() }
    }

    func responded(on stream: HTTP2StreamID) { lastResponded = max(lastResponded, stream) }

    /// Accepts no further streams. Open streams continue.
    func leave() { goAway(last: lastStream, .noError) }

    /// Refuses this stream and later streams. Returns `false` if one of them has got a part of its response.
    func leave(before stream: HTTP2StreamID) -> Bool {
        guard !isLeaving, lastResponded < stream else { return false }
        return goAway(last: HTTP2StreamID(max(0, Int(stream) - 2)), .noError)
    }

    /// Ends all streams, and the connection.
    func breakOff() {
        goAway(last: .rootStream, .internalError)
        socket.cut()
    }

    func cut() { socket.cut() }

    func reset() {
        guard let context, let channel = context.channel as? any SocketOptionProvider else { return socket.cut() }
        let bound = NIOLoopBound(socket, eventLoop: context.eventLoop)
        channel.setSoLinger(linger(l_onoff: 1, l_linger: 0)).whenComplete { _ in bound.value.cut() }
    }

    @discardableResult
    private func goAway(last: HTTP2StreamID, _ code: HTTP2ErrorCode) -> Bool {
        guard !isLeaving, let context else { return false }
        isLeaving = true
        late.lastStream = last
        journal.count("GOAWAY")
        let payload = HTTP2Frame.FramePayload.goAway(lastStreamID: last, errorCode: code, opaqueData: nil)
        context.writeAndFlush(wrapOutboundOut(HTTP2Frame(streamID: .rootStream, payload: payload)), promise: nil)
        return true
    }
}
