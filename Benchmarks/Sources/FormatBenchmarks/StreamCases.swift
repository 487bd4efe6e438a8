import CPeers
import ErrandCore
import ErrandFormats

/// Event streams and lines.
enum StreamCases {
    static func all() -> [Measured] {
        [
            events("events of 1 KiB", payloadBytes: 1024, budget: (8, 1.1)),
            events("events of 100 bytes", payloadBytes: 100, budget: (8, 1.1)),
            events("events of 1 KiB in Greek", payloadBytes: 1024, of: Samples.greek, budget: (5, 1.1)),
            eventsOfBody(payloadBytes: 1024, budget: (8, 1.1)),
            linesOfBody(lineBytes: 100, budget: (8, 1.1)),
            jsonLines(lineBytes: 100, budget: (6, 1.1)),
        ]
    }

    private static let totalBytes = 4 * 1024 * 1024

    private static func stream(_ payloadBytes: Int, of words: [String]) -> (bytes: [UInt8], count: Int) {
        let count = totalBytes / (payloadBytes + 8)
        return ((0..<count).flatMap { Array("data: \(Samples.json(payloadBytes, seed: $0, from: words))\n\n".utf8) }, count)
    }

    private static func events(
        _ name: String, payloadBytes: Int, of words: [String] = Samples.latin, budget: (Double, Double)
    ) -> Measured {
        let (bytes, count) = stream(payloadBytes, of: words)
        let chunks = Samples.chunks(bytes)
        return Measured(name: name, peerName: "memchr, Strings", bytes: bytes.count, units: count, budget: budget) {
            var parser = EventStreamParser()
            var sum = 0
            for chunk in chunks {
                parser.append(chunk)
                while let item = try parser.next() {
                    if case .event(let event) = item { sum += event.data.utf8.count }
                }
            }
            return sum
        } peer: {
            textLines(of: bytes, dropping: 6)
        }
    }

    private static func eventsOfBody(payloadBytes: Int, budget: (Double, Double)) -> Measured {
        let (bytes, count) = stream(payloadBytes, of: Samples.latin)
        let chunks = Samples.chunks(bytes)
        return Measured(
            name: "response.body.events of 1 KiB", peerName: "memchr, Strings", bytes: bytes.count, units: count, budget: budget
        ) {
            var sum = 0
            for try await event in ResponseBody(ReadyChunks(chunks)).events { sum += event.data.utf8.count }
            return sum
        } peer: {
            textLines(of: bytes, dropping: 6)
        }
    }

    private static func linesOfBody(lineBytes: Int, budget: (Double, Double)) -> Measured {
        let count = totalBytes / (lineBytes + 1)
        let bytes = (0..<count).flatMap { Array((Samples.words(lineBytes, seed: $0) + "\n").utf8) }
        let chunks = Samples.chunks(bytes)
        return Measured(
            name: "response.body.lines of 100 bytes", peerName: "memchr, Strings", bytes: bytes.count, units: count, budget: budget
        ) {
            var sum = 0
            for try await line in ResponseBody(ReadyChunks(chunks)).lines { sum += line.utf8.count }
            return sum
        } peer: {
            textLines(of: bytes, dropping: 0)
        }
    }

    private static func jsonLines(lineBytes: Int, budget: (Double, Double)) -> Measured {
        let count = totalBytes / (lineBytes + 1)
        let bytes = (0..<count).flatMap { Array((Samples.json(lineBytes, seed: $0) + "\n").utf8) }
        let chunks = Samples.chunks(bytes)
        return Measured(
            name: "NDJSON, lines of 100 bytes", peerName: "memchr, arrays", bytes: bytes.count, units: count, budget: budget
        ) {
            var splitter = JSONLineSplitter()
            var sum = 0
            for chunk in chunks {
                splitter.append(chunk)
                while let line = try splitter.next() { sum += line.bytes.count }
            }
            return sum
        } peer: {
            var sum = 0
            forEachLine(of: bytes) { line in
                let copy = Array(line)
                errand_peer_keep(copy)
                sum += copy.count
            }
            return sum
        }
    }

    /// The least that makes texts of lines: memchr finds their ends, and a `String` is made of what stands after the first `count` bytes.
    private static func textLines(of bytes: [UInt8], dropping count: Int) -> Int {
        var sum = 0
        forEachLine(of: bytes) { line in
            guard !line.isEmpty else { return }
            var text = String(decoding: UnsafeBufferPointer(rebasing: line.dropFirst(count)), as: UTF8.self)
            text.withUTF8 { errand_peer_keep($0.baseAddress) }
            sum += text.utf8.count
        }
        return sum
    }

    private static func forEachLine(of bytes: [UInt8], _ body: (UnsafeBufferPointer<UInt8>) -> Void) {
        bytes.withUnsafeBufferPointer { bytes in
            guard var next = bytes.baseAddress else { return }
            var left = bytes.count
            while left > 0 {
                let length = errand_peer_find_byte(next, left, 0x0A)
                body(UnsafeBufferPointer(start: next, count: length))
                let used = min(length + 1, left)
                next += used
                left -= used
            }
        }
    }
}
