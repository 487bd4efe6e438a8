#if Telemetry
internal import ErrandCore
internal import Synchronization

/// A body that is handed on as it comes, and whose front is kept; it reads nothing by itself.
actor LoggedBodySource: BodySource {
    private let body: ResponseBody
    private var iterator: ResponseBody.Iterator
    private let record: BodyRecord

    init(_ body: ResponseBody, record: BodyRecord) {
        (self.body, self.record) = (body, record)
        iterator = body.makeAsyncIterator()
    }

    func next() async throws -> Data? {
        var current = iterator
        defer { iterator = current }
        do {
            if let chunk = try await current.next() {
                record.add(chunk)
                return chunk
            }
        } catch {
            record.end(.failed(error))
            throw error
        }
        record.end(.complete)
        return nil
    }

    nonisolated func abandon() {
        record.end(.abandoned)
        body.abandon()
    }

    nonisolated var trailers: HTTPFields? { body.trailers }
}

/// What was read of a body: how much, and its front.
final class BodyRecord: Sendable {
    struct Read {
        var front = Data()
        var count = 0
    }

    private let limitBytes: Int
    private let onEnd: @Sendable (Read, ExchangeLifetime.End) -> Void
    /// Nil once it was told.
    private let read = Mutex<Read?>(Read())

    /// - Parameter onEnd: called once, when the body was read to its end, broke off, or can be read by nobody.
    init(limitBytes: Int, onEnd: @escaping @Sendable (Read, ExchangeLifetime.End) -> Void) {
        (self.limitBytes, self.onEnd) = (limitBytes, onEnd)
    }

    func add(_ chunk: Data) {
        read.withLock { read in
            let wanted = limitBytes - (read?.front.count ?? limitBytes)
            if wanted > 0 { read?.front.append(contentsOf: chunk.prefix(wanted)) }
            read?.count += chunk.count
        }
    }

    func end(_ end: ExchangeLifetime.End) {
        let last = read.withLock { read in
            defer { read = nil }
            return read
        }
        if let last { onEnd(last, end) }
    }
}
#endif
