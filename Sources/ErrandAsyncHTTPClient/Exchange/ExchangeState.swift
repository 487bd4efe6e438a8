#if AsyncHTTPClient
internal import AsyncHTTPClient
internal import ErrandCore
internal import NIOCore

extension Exchange {
    enum End {
        case complete
        case failed(any Error)
    }

    /// What the client, the reader and whoever ends the exchange change, behind one lock.
    struct State {
        var phase = ExchangePhase.connect
        var wasSent = WasSent.no
        var isWithdrawing = false  // it is to end, and whether the request has left is being found out
        var isCancelled = false  // it is to end by that
        var sentBytes: Int64 = 0  // of the request's body
        var receivedBytes: Int64 = 0  // of the response's body
        var isDecoded = false  // what is received is not what was on the wire
        var head: HTTPResponse?
        var headWaiter: CheckedContinuation<ErrandCore.Response, any Error>?
        var chunks: [Data] = []
        var firstChunk = 0  // of those not yet read
        var bufferedBytes = 0
        var reader: CheckedContinuation<Data?, any Error>?
        var demand: EventLoopPromise<Void>?  // kept while enough is buffered
        var end: End?
        var eventLoop: (any EventLoop)?  // where the client tells its events, once it has told one
        var bytesToCome: Int64?  // of the response's body; nil where its length is not known
        var held = Held()

        /// What lives as long as the exchange does.
        struct Held {
            var task: (HTTPClient.Task<Void>, of: any EventLoopGroup)?
            var deadline: Scheduled<Void>?
            var upload: Task<Void, Never>?
            /// What the client waits for while the body is sent.
            var sent: EventLoopPromise<Void>?
            var owner: ClientOwner?
        }

        /// What must be done, after the lock is released, when the exchange ends.
        struct Release {
            let headWaiter: CheckedContinuation<ErrandCore.Response, any Error>?
            let reader: CheckedContinuation<Data?, any Error>?
            let demand: EventLoopPromise<Void>?
            let held: Held
            let sizes: ExchangeLifetime.BodySizes
        }

        mutating func finish(_ end: End) -> Release {
            self.end = end
            defer { (headWaiter, reader, demand, held) = (nil, nil, nil, Held()) }
            let sizes = ExchangeLifetime.BodySizes(requestBytes: sentBytes, responseBytes: isDecoded ? nil : receivedBytes)
            return Release(headWaiter: headWaiter, reader: reader, demand: demand, held: held, sizes: sizes)
        }

        /// How much of the response's body has come by now; nil where nobody waits for it any more.
        mutating func receive(_ count: Int) -> Int64? {
            guard end == nil else { return nil }
            receivedBytes += Int64(count)
            return receivedBytes
        }

        mutating func popChunk() -> Data? {
            guard firstChunk < chunks.count else { return nil }
            let chunk = chunks[firstChunk]
            chunks[firstChunk] = Data()
            firstChunk += 1
            if firstChunk == chunks.count {
                chunks.removeAll(keepingCapacity: true)
                firstChunk = 0
            }
            bufferedBytes -= chunk.count
            return chunk
        }

        mutating func dropChunks() { (chunks, firstChunk, bufferedBytes) = ([], 0, 0) }
    }
}
#endif
