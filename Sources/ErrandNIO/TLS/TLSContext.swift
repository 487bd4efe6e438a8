#if SWIFT_NIO
internal import ErrandCore
internal import NIOCore
internal import NIOPosix
internal import NIOSSL
internal import Synchronization

/// A context of NIOSSL, which is created when it is first needed.
final class TLSContext: Sendable {
    private enum State: Sendable {
        case missing
        case loading(EventLoopFuture<NIOSSLContext>)
        case ready(NIOSSLContext)
    }

    private let configuration: TLSConfiguration
    private let state = Mutex(State.missing)

    init(_ configuration: TLSConfiguration) { self.configuration = configuration }

    /// Returns the context. The context is created on a separate thread, because the roots of the system are read from files. After a
    /// failure, the next connection tries again.
    func value(on loop: any EventLoop) -> EventLoopFuture<NIOSSLContext> {
        let promise = loop.makePromise(of: NIOSSLContext.self)
        let known = state.withLock { state in
            let before = state
            if case .missing = state { state = .loading(promise.futureResult) }
            return before
        }
        switch known {
        case .ready(let context): promise.succeed(context)
        case .loading(let future): future.hop(to: loop).cascade(to: promise)
        case .missing:
            NIOThreadPool.singleton.runIfActive(eventLoop: loop) { [configuration] in
                do {
                    return try NIOSSLContext(configuration: configuration)
                } catch {
                    let reason = FailureText.of(error)
                    throw HandshakeFailure(.tls, "the trusted certificates of the system could not be read: \(reason)", underlying: error)
                }
            }.whenComplete { result in
                self.state.withLock { $0 = (try? result.get()).map { .ready($0) } ?? .missing }
                promise.completeWith(result)
            }
        }
        return promise.futureResult
    }
}
#endif
