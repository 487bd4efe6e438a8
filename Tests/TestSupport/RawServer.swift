public import Foundation
internal import Synchronization

/// A TCP server on a free port of the loopback interface that does to each connection what a script says, right or wrong.
///
/// ```swift
/// let server = try RawServer { connection in
///     try connection.readHead()
///     try connection.write("HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nfour")
///     connection.resetAtEnd()
/// }
/// defer { server.stop() }
/// ```
///
/// Each connection has a thread of its own; it is closed when its script returns or throws. What a script throws is no failure:
/// most of them end because the client went away.
public final class RawServer: Sendable {
    /// What happened so far.
    public struct Counts: Sendable {
        public var accepted = 0
        /// Connections whose script still runs.
        public var open = 0
        /// The most of them at a time.
        public var mostOpen = 0
        /// Heads of requests that were read.
        public var requests = 0
        public var bytesRead = 0
        public var bytesWritten = 0
        /// Connections whose end, by the other side, a script has seen.
        public var seenEnds = 0
    }

    public typealias Script = @Sendable (RawConnection) throws -> Void

    public let host: String
    public let port: Int
    public let counts: Watched<Counts>
    private let listener: Listener

    /// - Parameters:
    ///   - host: `127.0.0.1` or `::1`.
    ///   - receiveBufferBytes: what the system holds of what was not read yet; nil leaves it to the system.
    ///   - script: runs once for each connection.
    /// - Throws: ``SystemError``.
    public init(host: String = "127.0.0.1", receiveBufferBytes: Int32? = nil, script: @escaping Script) throws {
        let (descriptor, port) = try Socket.listen(host: host, backlog: 512, receiveBufferBytes: receiveBufferBytes)
        let counts = Watched(Counts())
        let listener = Listener(descriptor, counts: counts)
        (self.host, self.port, self.counts, self.listener) = (host, port, counts, listener)
        RawServer.thread("raw server \(port)") { listener.run(script) }
    }

    /// A server that reads each request whole and answers it, connection kept, until the client closes.
    public static func answering(
        _ answer: @escaping @Sendable (RawConnection, RawRequest, Data) throws -> Void
    ) throws -> RawServer {
        try RawServer { connection in
            while true {
                let request = try connection.readHead()
                try answer(connection, request, try connection.readBody(of: request))
            }
        }
    }

    /// Stops listening, and breaks every connection off.
    public func stop() { listener.stop() }

    deinit { listener.stop() }

    /// `http://host:port` with `path` behind it.
    public func url(_ path: String = "/", scheme: String = "http") -> String {
        "\(scheme)://\(host.contains(":") ? "[\(host)]" : host):\(port)\(path)"
    }

    /// Work of its own, off the threads that Swift's tasks share.
    fileprivate static func thread(_ name: String, _ work: @escaping @Sendable () -> Void) {
        let thread = Thread(block: work)
        thread.name = name
        thread.stackSize = 512 * 1024
        thread.start()
    }

    /// Owns the descriptors; lives until its threads are done.
    private final class Listener: Sendable {
        private struct State {
            var isStopped = false
            var connections: Set<Int32> = []
        }

        private let descriptor: Int32
        private let counts: Watched<Counts>
        private let state = Mutex(State())

        init(_ descriptor: Int32, counts: Watched<Counts>) { (self.descriptor, self.counts) = (descriptor, counts) }

        func run(_ script: @escaping Script) {
            var number = 0
            while true {
                let connection = Socket.acceptOne(descriptor)
                guard connection >= 0 else { break }
                number += 1
                let isStopped = state.withLock { state in
                    if !state.isStopped { state.connections.insert(connection) }
                    return state.isStopped
                }
                guard !isStopped else {
                    Socket.closeDescriptor(connection)
                    break
                }
                counts.change { counts in
                    counts.accepted += 1
                    counts.open += 1
                    counts.mostOpen = max(counts.mostOpen, counts.open)
                }
                RawServer.thread("raw connection \(number)") { [number, self] in
                    try? script(RawConnection(number: number, descriptor: connection, counts: self.counts))
                    self.end(connection)
                }
            }
            Socket.closeDescriptor(descriptor)
        }

        private func end(_ connection: Int32) {
            // A number is given away again as soon as it is closed: nobody may stop another's connection by it.
            state.withLock { state in
                state.connections.remove(connection)
                Socket.closeDescriptor(connection)
            }
            counts.change { $0.open -= 1 }
        }

        func stop() {
            state.withLock { state in
                guard !state.isStopped else { return }
                state.isStopped = true
                Socket.stopBothWays(descriptor)
                state.connections.forEach(Socket.stopBothWays)
            }
        }
    }
}
