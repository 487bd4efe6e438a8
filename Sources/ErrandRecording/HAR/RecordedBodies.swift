internal import ErrandCore

extension RequestBody {
    /// Returns a copy of this body that reports the sent bytes to `exchange`. Bytes in memory are returned unchanged, because they are
    /// already recorded.
    func recorded(by exchange: RecordedExchange) -> RequestBody {
        guard bufferedData == nil else { return self }
        return observed { event in
            switch event {
            case .opened(let offset): exchange.beginRequestBody(at: offset)
            case .chunk(let chunk): exchange.send(chunk)
            case .end(.complete, _): exchange.endRequestBody()
            case .end: break
            }
        }
    }
}

extension ResponseBody {
    /// Returns a copy of this body that reports each chunk that is read to `exchange`. Bytes in memory are returned unchanged, because they
    /// are already recorded.
    func recorded(by exchange: RecordedExchange) -> ResponseBody {
        guard bufferedData == nil else { return self }
        return observed { event in
            switch event {
            case .opened: break
            case .chunk(let chunk): exchange.receive(chunk)
            case .end(.complete, let trailers): exchange.end(.complete, trailers: trailers)
            case .end(.failed(let error), _): exchange.end(RecordedExchange.stage(after: error, inBody: true))
            case .end(.abandoned, _): exchange.end(.abandoned)
            }
        }
    }
}

/// The part of a request's body that matching has read, and the body to send after matching.
struct ReadRequestBody {
    /// The bytes; `nil` if the body is longer than the limit, or was not read.
    let bytes: Data?
    let body: RequestBody
    private let source: (any BodySource)?

    init(unread body: RequestBody) { (bytes, self.body, source) = (nil, body, nil) }

    /// - Parameter limitBytes: the largest number of bytes to read.
    init(_ body: RequestBody, limitBytes: Int) async throws {
        if let bytes = body.bufferedData {
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
            // For a one-shot body, the bytes that were read come first, then the rest.
            let read = all
            self.body = .stream(length: body.length, replay: .oneShot) { _ in ChunksBodySource([read], then: .source(opened)) }
            source = opened
        }
    }

    /// Releases the body, which will not be sent.
    func abandon() { source?.abandon() }
}
