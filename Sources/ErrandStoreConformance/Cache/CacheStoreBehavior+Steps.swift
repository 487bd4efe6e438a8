internal import ErrandCache
internal import ErrandCore
internal import HTTPTypes
internal import Testing

/// The values and steps of the checks.
extension CacheStoreBehavior {
    static func url(_ path: String, host: String = "a.example") -> HTTPURL {
        do { return try HTTPURL("https://\(host)\(path)") } catch { preconditionFailure("path must be valid (is \(path))") }
    }

    static func key(_ path: String) -> CacheKey { CacheKey(url: url(path)) }

    static func key(_ path: String, search: String) -> CacheKey {
        key(path).replacing(url: url(path).description, content: nil, search: search)
    }

    static func language(_ language: String) -> CacheSelection {
        CacheSelection(fields: [.init(name: .acceptLanguage, value: .text(language))])
    }

    static func head(
        _ fields: [(HTTPField.Name, String)] = [], extent: CacheExtent = .whole(length: 5), selection: CacheSelection = CacheSelection(),
        lifetimes: CacheLifetimes? = nil, isDecoded: Bool = false, at seconds: Double = 0
    ) -> CacheEntry.Head {
        var response = HTTPResponse(status: .ok)
        for (name, value) in fields { response.headerFields.append(HTTPField(name: name, value: value)) }
        return CacheEntry.Head(
            response: response,
            requestTime: CacheInstant(sinceEpoch: .seconds(1_900_000_000 + seconds), uptime: .seconds(seconds + 10), run: .max),
            responseTime: CacheInstant(sinceEpoch: .seconds(1_900_000_001 + seconds), uptime: .seconds(seconds + 11), run: .max),
            selection: selection, extent: extent, lifetimes: lifetimes, isDecoded: isDecoded)
    }

    static func writer(in store: any CacheStore, _ key: CacheKey) async throws -> any CacheWriter {
        let generation = try await store.lookUp(key).generation
        return try await store.makeWriter(for: key, head: head(), expectedBytes: nil, since: generation)
    }

    static func add(
        to store: any CacheStore, _ key: CacheKey, _ head: CacheEntry.Head, _ texts: [String], replacing: [CacheEntry.ID] = []
    ) async throws -> CacheEntry.ID {
        let bytes = texts.map { Data($0.utf8) }
        var head = head
        let length = Int64(bytes.reduce(0) { $0 + $1.count })
        if case .whole = head.extent {
            head = CacheEntry.Head(
                response: head.response, requestTime: head.requestTime, responseTime: head.responseTime, selection: head.selection,
                extent: .whole(length: length), lifetimes: head.lifetimes, isDecoded: head.isDecoded)
        }
        return try await add(to: store, key, head, chunks: bytes, replacing: replacing)
    }

    static func add(
        to store: any CacheStore, _ key: CacheKey, _ head: CacheEntry.Head, chunks: [Data], replacing: [CacheEntry.ID] = []
    ) async throws -> CacheEntry.ID {
        let generation = try await store.lookUp(key).generation
        let length = head.extent.storedBytes
        let writer = try await store.makeWriter(for: key, head: head, expectedBytes: length, since: generation)
        for chunk in chunks { try await writer.write(chunk) }
        return try await writer.publish(head, replacing: replacing)
    }

    /// Expects that a store does not begin an entry, with or without waiting.
    static func expectNoWriter(
        in store: any CacheStore, _ key: CacheKey, _ head: CacheEntry.Head, expectedBytes: Int64? = nil, since generation: CacheGeneration,
        because refusal: CacheStatus.Refusal, _ comment: Comment? = nil
    ) async {
        await #expect(throws: refusal, comment) {
            try await store.makeWriter(for: key, head: head, expectedBytes: expectedBytes, since: generation)
        }
        do throws(CacheStatus.Refusal) {
            let writer = try store.makeImmediateWriter(for: key, head: head, expectedBytes: expectedBytes, since: generation)
            #expect(writer == nil, "makeImmediateWriter returned a writer")
        } catch {
            #expect(error == refusal, comment)
        }
    }

    /// Expects that a writer can't publish its entry, because a removal applies to the entry.
    static func expectGivenUp(_ writer: any CacheWriter, _ head: CacheEntry.Head, _ comment: Comment? = nil) async {
        await #expect(throws: CacheStatus.Refusal.removed, comment) { try await writer.publish(head, replacing: []) }
        writer.discard()
    }

    static func ids(_ key: CacheKey, _ store: any CacheStore) async throws -> [CacheEntry.ID] {
        try await store.lookUp(key).entries.map(\.id)
    }

    static func body(of id: CacheEntry.ID, _ offsets: Range<Int64>, in store: any CacheStore) async throws -> Data {
        let source = try #require(try await store.body(of: id, offsets: offsets))
        var data = Data()
        while let chunk = try await source.next() {
            #expect(!chunk.isEmpty)
            data.append(chunk)
        }
        return data
    }

    /// Returns whether the bytes are equal. `#expect(one == other)` would take minutes to describe the difference of long bodies.
    static func areEqual(_ one: Data, _ other: Data) -> Bool { one == other }

    static func text(of id: CacheEntry.ID, _ offsets: Range<Int64>, in store: any CacheStore) async throws -> String {
        String(decoding: try await body(of: id, offsets, in: store), as: UTF8.self)
    }
}
