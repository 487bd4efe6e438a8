import ErrandCore
import Foundation

@testable import ErrandCompression

// Content codings. zlib itself is not instrumented.

let compressionTargets = [
    Target("decompress", decompress), Target("compress", compress), Target("content-encoding", contentEncoding),
]

/// The codings that `setting` names; `nil` for one that was not compiled in.
private func codings(_ setting: UInt8) -> [ContentCoding]? {
    let names: [String] =
        switch setting % 6 {
        case 0: ["gzip"]
        case 1: ["deflate"]
        case 2: ["gzip", "gzip"]
        case 3: ["deflate", "gzip"]
        case 4: ["br"]
        default: ["zstd"]
        }
    let codings = names.compactMap { ContentCoding(named: $0) }
    return codings.count == names.count ? codings : nil
}

private typealias Outcome = (output: [UInt8], error: ContentDecodingError.Code?)

private func transformed(_ chunks: [[UInt8]], _ transform: some BodyTransform) throws -> Outcome {
    var transform = transform
    var (input, output) = (Data(), [UInt8]())
    func add(_ made: Data) {
        expect(made.count <= 64 * 1024, "more than 64 KiB at a time")
        output += made
    }
    do {
        for chunk in chunks {
            input += chunk
            while let made = try transform.next(&input) { add(made) }
        }
        while let made = try transform.finish(&input) { add(made) }
    } catch let error as ContentDecodingError {
        return (output, error.code)
    }
    return (output, nil)
}

private let request: Request? = try? Request(.get, url: "https://a.example/")

private func decoded(_ chunks: [[UInt8]], _ codings: [ContentCoding], _ limits: DecompressionLimits) -> Outcome {
    guard let request else { fail("no request") }
    let decoder = ContentDecoder(codings, limits, request: request, response: HTTPResponse(status: .ok))
    do {
        return try transformed(chunks, decoder)
    } catch {
        fail("decoding fails with \(error)")
    }
}

private func decompress(_ input: inout Input) {
    let (seed, settings) = (input.byte(), input.byte())
    guard let codings = codings(input.byte()) else { return }
    let limits =
        settings == 0
        ? DecompressionLimits(limitBytes: 4 << 20)
        : DecompressionLimits(limitBytes: Int(settings) * 64, maxRatio: 1 + Int(settings & 7), ratioThresholdBytes: 256)
    let bytes = input.bytes()
    let results = divisions(of: bytes, seed: seed).map { decoded($0, codings, limits) }
    for result in results {
        // The output that goes over the limit is not delivered.
        expect(result.output.count <= limits.limitBytes ?? .max, "more bytes than the limit")
        let ratio = limits.maxRatio ?? 1
        expect(result.output.count <= max(limits.ratioThresholdBytes, bytes.count * ratio), "more bytes than the limit of the ratio")
        // Where the ratio ends a body depends on the chunks, as does what was delivered before that.
        if result.error?.isLimit == true || results[0].error?.isLimit == true { continue }
        // libzstd compares a frame with the size in its header only if it decodes it in one step.
        if result.error != nil || results[0].error != nil, codings.contains(where: { $0.rawValue == "zstd" }) { continue }
        expectEqual(result.error == nil, results[0].error == nil, "an error depends on the chunks")
        if result.error == nil { expectEqual(result.output, results[0].output, "what is decoded depends on the chunks") }
    }
}

private func compress(_ input: inout Input) {
    let (seed, repetitions) = (input.byte(), Int(input.byte()))
    guard let codings = codings(input.byte()) else { return }
    let piece = input.bytes()
    let plain = Array(repeatElement(piece, count: 1 + repetitions).joined())
    var body = plain
    for coding in codings.reversed() {
        guard let encoded = try? transformed(pieces(of: body, seed: seed), ContentEncoder(coding)).output else { fail("encoding fails") }
        body = encoded
    }
    let result = decoded(pieces(of: body, seed: seed &+ 1), codings, DecompressionLimits(maxRatio: nil))
    expectEqual(result.error?.description, nil, "what was encoded can't be decoded")
    expectEqual(result.output, plain, "a body changes when it is encoded and decoded")
}

private func contentEncoding(_ input: inout Input) {
    var head = HTTPResponse(status: .ok)
    head.headerFields.append(HTTPField(name: .contentEncoding, value: input.shortText()))
    head.headerFields.append(HTTPField(name: .acceptEncoding, value: input.shortText()))
    head.headerFields.append(HTTPField(name: .contentEncoding, value: input.text()))
    let codings = try? ContentCoding.toDecode(head, to: .get, atMost: 3)
    expect((codings?.count ?? 0) <= 3, "more codings than the limit")
    for coding in ContentCoding.allCases { _ = coding.isAccepted(by: head.headerFields) }
}
