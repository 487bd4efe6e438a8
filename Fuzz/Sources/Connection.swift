import ErrandCore

@testable import ErrandNIO

// The parser of HTTP/1.1 responses.

let connectionTargets = [Target("http1-response", http1Response)]

private struct Responses: Equatable {
    var events: [String] = []
    /// The bodies, each as a whole.
    var bodies: [[UInt8]] = []
    /// The kind of error, without the text that it shows.
    var error: String?

    private static let methods: [HTTPRequest.Method] = [.get, .head, .post, .connect]

    init(_ chunks: [[UInt8]], method: UInt8, limits: ResponseLimits) {
        let method = Self.methods[Int(method) % Self.methods.count]
        var parser = ResponseParser(limits: limits)
        var received: [UInt8] = []
        parser.begin(method)
        bodies.append([])
        do throws(ResponseParseError) {
            for chunk in chunks {
                received += chunk
                guard try read(&received, &parser, method) else { return }
            }
            if case .end = try parser.endOfInput(pending: received.count) { events.append("end") }
            expect(received.isEmpty, "bytes are left at the end of the connection")
        } catch {
            self.error = kind(of: error)
            expect(thrown { _ = try parser.next(received) } != nil, "an error is not thrown again")
            _ = "\(error)"
        }
    }

    /// Returns false where another protocol begins.
    private mutating func read(
        _ received: inout [UInt8], _ parser: inout ResponseParser, _ method: HTTPRequest.Method
    ) throws(ResponseParseError) -> Bool {
        while true {
            let (event, consumed) = try parser.next(received)
            expect(consumed <= received.count, "more bytes are consumed than there are")
            defer { received.removeFirst(consumed) }
            switch event {
            case .needsMore: return true
            case .interim(let response): events.append("interim \(response.status.code) \(response.headerFields.count)")
            case .head(let head):
                let fields = head.response.headerFields.map { "\($0.name.rawName): \($0.value)" }
                for field in head.response.headerFields { expect(HTTPField.isValidValue(field.value), "an invalid field") }
                events.append("head \(head.response.status) \(fields) \(head.framing) \(head.isPersistent)")
                if head.response.status.code == 101 { return false }
            case .body(let range):
                expect(!range.isEmpty && range.upperBound <= consumed, "a piece of a body that is not among the bytes")
                bodies[bodies.count - 1] += received[range]
            case .end(let trailers):
                events.append("end \(trailers.map { $0.map { "\($0.name.rawName): \($0.value)" } } ?? [])")
                guard events.count < 16 else { return false }
                parser.begin(method)
                bodies.append([])
            }
        }
    }
}

extension ResponseParser {
    fileprivate mutating func next(_ bytes: [UInt8]) throws(ResponseParseError) -> (event: Event, consumed: Int) {
        let result: Result<(event: Event, consumed: Int), ResponseParseError> = bytes.withUnsafeBytes { buffer in
            do throws(ResponseParseError) { return .success(try next(in: buffer)) } catch { return .failure(error) }
        }
        return try result.get()
    }
}

/// The name of the case: the text that an error shows depends on how many bytes have arrived.
private func kind(of error: ResponseParseError) -> String {
    Mirror(reflecting: error).children.first?.label ?? "\(error)"
}

private func http1Response(_ input: inout Input) {
    let (seed, method, settings) = (input.byte(), input.byte(), input.byte())
    var limits = ResponseLimits()
    if settings != 0 { (limits.headBytes, limits.fieldCount) = (Int(settings) * 2, 1 + Int(settings & 7)) }
    let bytes = input.bytes()
    let results = divisions(of: bytes, seed: seed).map { Responses($0, method: method, limits: limits) }
    for result in results.dropFirst() { expectEqual(result, results[0], "the responses depend on the chunks") }
    expect(results[0].bodies.reduce(0) { $0 + $1.count } <= bytes.count, "more bytes of bodies than there are")
}
