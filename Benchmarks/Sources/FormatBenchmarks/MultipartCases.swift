import CPeers
import ErrandCompression
import ErrandCore
import ErrandFormats

/// Multipart bodies, both ways, and content coding.
enum MultipartCases {
    static func all() throws -> [Measured] {
        guard let boundary = MultipartBoundary("errand-0123456789abcdef0123456789abcdef") else { return [] }
        return [try writer(boundary, budget: (8, 17)), try reader(boundary, budget: (10, 15)), gunzip(budget: (2.5, 15))]
    }

    private static let contents = (0..<8).map { Data(Samples.words(120_000, seed: $0).utf8) }

    private static func form(_ boundary: MultipartBoundary) -> MultipartForm {
        MultipartForm(
            contents.enumerated().map { .init("file\($0)", .data($1, fileName: "photo \($0).jpeg", contentType: "image/jpeg")) },
            boundary: boundary)
    }

    /// The bytes in memory are searched for the boundary, and copied.
    private static func writer(_ boundary: MultipartBoundary, budget: (Double, Double)) throws -> Measured {
        let form = form(boundary)
        let delimiter = Array("--\(boundary.text)".utf8)
        guard let length = try form.body().length else { throw DifferentResults(name: "the length of a form") }
        return Measured(
            name: "MultipartForm.body, parts of 120 KB", peerName: "memmem, memcpy", bytes: Int(length), units: contents.count,
            budget: budget
        ) {
            try form.body().bufferedData?.count ?? 0
        } peer: {
            var body = Data(capacity: Int(length))
            for content in contents {
                let isThere = content.withUnsafeBytes { bytes in
                    let bytes = bytes.bindMemory(to: UInt8.self)
                    return bytes.baseAddress.map { errand_peer_find($0, bytes.count, delimiter, delimiter.count) < bytes.count }
                }
                if isThere == false { body.append(content) }
            }
            body.withUnsafeBytes { errand_peer_keep($0.baseAddress) }
            return body.count + Int(length) - contents.reduce(0) { $0 + $1.count }
        }
    }

    private static func reader(_ boundary: MultipartBoundary, budget: (Double, Double)) throws -> Measured {
        let body = Array(try form(boundary).body().bufferedData ?? Data())
        let chunks = Samples.chunks(body)
        let delimiter = Array("\r\n--\(boundary.text)".utf8)
        return Measured(
            name: "MultipartReader, parts of 120 KB", peerName: "memmem, memcpy", bytes: body.count, units: contents.count, budget: budget
        ) {
            var reader = MultipartReader(boundary: boundary)
            var count = 0
            for chunk in chunks {
                reader.append(chunk)
                while let event = try reader.next() {
                    if case .end = event { count += 1 }
                }
            }
            try reader.finish()
            return count
        } peer: {
            // The parts with their heads.
            body.withUnsafeBufferPointer { bytes in
                guard let base = bytes.baseAddress else { return 0 }
                var (next, count) = (0, 0)
                while true {
                    let length = errand_peer_find(base + next, bytes.count - next, delimiter, delimiter.count)
                    guard next + length < bytes.count else { return count }
                    errand_peer_keep(Array(UnsafeBufferPointer(start: base + next, count: length)))
                    next += length + delimiter.count
                    count += 1
                }
            }
        }
    }

    /// The whole way of an app: a stack with `decompress()`, and the chunks of its response's body.
    private static func gunzip(budget: (Double, Double)) -> Measured {
        let plain = (0..<4000).flatMap { Array((Samples.json(1023, seed: $0) + "\n").utf8) }
        let packed = [UInt8](unsafeUninitializedCapacity: plain.count) { buffer, count in
            count = buffer.baseAddress.map { errand_peer_gzip(plain, plain.count, $0, buffer.count) } ?? 0
        }
        let chunks = Samples.chunks(packed)
        let stack = HTTPStack(ReadyTransport(fields: [.contentEncoding: "gzip"], chunks: chunks)).decompress()
        return Measured(
            name: "decompress() of gzip", peerName: "zlib's inflate", bytes: plain.count, units: chunks.count, budget: budget
        ) {
            var sum = 0
            for try await chunk in try await stack.send(Request(.get, url: "https://a.example/")).body { sum += chunk.count }
            return sum
        } peer: {
            errand_peer_gunzip(packed, packed.count, Samples.chunkBytes)
        }
    }
}
