public import Foundation
internal import Synchronization

/// A TCP server on a free port of the loopback interface that runs a script on each connection, valid HTTP or not.
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
/// Each connection has its own thread; it is closed when its script returns or throws. An error of a script is ignored: most scripts end
/// because the client closed the connection.
public final class RawServer: Sendable {
    /// The numbers of connections and requests so far.
    public struct Counts: Sendable {
        public var accepted = 0
        /// The number of connections whose script is still running.
        public var open = 0
        /// The highest value of `open`.
        public var mostOpen = 0
        /// The number of request heads that were read.
        public var requests = 0
        public var bytesRead = 0
        public var bytesWritten = 0
        /// The number of connections whose end a script has noticed.
        public var seenEnds = 0
    }

    /// The code that serves one connection.
    public typealias Script = @Sendable (RawConnection) throws -> Void

    public let host: String
    public let port: Int
    public let counts: Watched<Counts>
    private let listener: Listener

    /// Starts a server.
    ///
    /// - Parameters:
    ///   - host: `127.0.0.1` or `::1`.
    ///   - receiveBufferBytes: the size of the operating system's receive buffer; `nil`, the default: chosen by the operating system.
    ///   - script: runs once for each connection.
    /// - Throws: ``SystemError``.
    public init(host: String = "127.0.0.1", receiveBufferBytes: Int32? = nil, script: @escaping Script) throws {
        let (descriptor, port) = try Socket.listen(host: host, backlog: 512, receiveBufferBytes: receiveBufferBytes)
        let counts = Watched(Counts())
        let listener = Listener(descriptor, counts: counts)
        (self.host, self.port, self.counts, self.listener) = (host, port, counts, listener)
        RawServer.thread("raw server \(port)") { listener.run(script) }
    }

    /// Starts a server that reads each request completely and responds to it. The connection is kept until the client closes it.
    public static func responding(
        _ respond: @escaping @Sendable (RawConnection, RawRequest, Data) throws -> Void
    ) throws -> RawServer {
        try RawServer { connection in
            while true {
                let request = try connection.readHead()
                try respond(connection, request, try connection.readBody(of: request))
            }
        }
    }

    /// Stops listening, and closes all connections.
    public func stop() { listener.stop() }

    deinit { listener.stop() }

    /// Returns a URL of the server: `http://host:port`, followed by `path`.
    public func url(_ path: String = "/", scheme: String = "http") -> String {
        "\(scheme)://\(host.contains(":") ? "[\(host)]" : host):\(port)\(path)"
    }

    /// Runs work on its own thread, separate from the threads that Swift's tasks share.
    fileprivate static func thread(_ name: String, _ work: @escaping @Sendable () -> Void) {
        let thread = Thread(block: work)
        thread.name = name
        thread.stackSize = 512 * 1024
        thread.start()
    }

    /// Owns the descriptors. Lives until its threads have ended.
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
            // Inside the lock: the system reuses a descriptor's number as soon as it is closed, and `stop()` must not close another
            // connection.
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
