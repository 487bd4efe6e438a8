internal import ErrandCore
internal import Synchronization

/// A request's body on its way out, with a copy of each chunk for the recording.
struct SentBodySource: BodySource {
    let base: any BodySource
    let exchange: RecordedExchange

    var trailers: HTTPFields? { base.trailers }

    func next() async throws -> Data? {
        let chunk = try await base.next()
        if let chunk { exchange.sent(chunk) } else { exchange.requestBodyEnded() }
        return chunk
    }

    func abandon() { base.abandon() }
}

extension RequestBody {
    /// This body, telling `exchange` what is sent of it; as long, and sent again in the same ways.
    func recorded(by exchange: RecordedExchange) -> RequestBody {
        guard bytes == nil else { return self }
        return .stream(length: length, replay: replay) { offset in
            let base = try await open(from: offset)
            exchange.requestBodyBegins(at: offset)
            return SentBodySource(base: base, exchange: exchange)
        }
    }
}

/// A response's body on its way in, with a copy of each chunk for the recording. Nothing is read ahead.
actor ReceivedBodySource: BodySource {
    private let body: ResponseBody
    private let exchange: RecordedExchange
    private var iterator: ResponseBody.Iterator?

    init(_ body: ResponseBody, for exchange: RecordedExchange) {
        (self.body, self.exchange) = (body, exchange)
        iterator = body.makeAsyncIterator()
    }

    nonisolated var trailers: HTTPFields? { body.trailers }

    func next() async throws -> Data? {
        guard var current = iterator else { return nil }
        do {
            if let chunk = try await current.next(isolation: self) {
                exchange.received(chunk)
                return chunk
            }
        } catch {
            iterator = nil
            exchange.ended(RecordedExchange.end(by: error, inBody: true))
            throw error
        }
        iterator = nil
        exchange.ended(.complete, trailers: body.trailers)
        return nil
    }

    nonisolated func abandon() {
        exchange.ended(.abandoned)
        body.abandon()
    }
}

/// A request's body, as far as matching needs it, and the body to send after that.
struct ReadRequestBody {
    /// Nil where it is longer than the limit, or was not read.
    let bytes: Data?
    let body: RequestBody
    private let source: (any BodySource)?

    init(unread body: RequestBody) { (bytes, self.body, source) = (nil, body, nil) }

    /// - Parameter limitBytes: the most to read.
    init(_ body: RequestBody, limitBytes: Int) async throws {
        if let bytes = body.bytes {
            (self.bytes, self.body, source) = (bytes, body, nil)
            return
        }
        let opened = try await body.open()
        var all = Data()
        var isWhole = false
        do {
            while all.count <= limitBytes {
                guard let chunk = try await opened.next() else {
                    isWhole = true
                    break
                }
                all.append(chunk)
            }
        } catch {
            opened.abandon()
            throw error
        }
        bytes = isWhole ? all : nil
        if body.replay.canRestart {
            opened.abandon()
            (self.body, source) = (body, nil)
        } else {
            // It can't be read again: what was read goes first, then the rest.
            let read = all
            self.body = .stream(length: body.length, replay: .oneShot) { _ in ResumedBodySource(read: read, rest: opened) }
            source = opened
        }
    }

    /// ``body`` will not be sent.
    func abandon() { source?.abandon() }
}

/// What was read of a source already, and then the rest of it.
private final class ResumedBodySource: BodySource {
    private let read: Mutex<Data?>
    private let rest: any BodySource

    init(read: Data, rest: any BodySource) {
        self.read = Mutex(read.isEmpty ? nil : read)
        self.rest = rest
    }

    var trailers: HTTPFields? { rest.trailers }

    func next() async throws -> Data? {
        let first = read.withLock { read in
            defer { read = nil }
            return read
        }
        if let first { return first }
        return try await rest.next()
    }

    func abandon() { rest.abandon() }
}
