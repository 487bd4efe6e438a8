import HTTPTypes

@testable import ErrandFormats

let multipartTargets = [Target("multipart-reader", multipartReader), Target("multipart-writer", multipartWriter)]

/// The events of a body, with the pieces of a part's content as one.
private struct MultipartResult: Equatable {
    var events: [MultipartReader.Event] = []
    var error: MultipartError?
    var isComplete = false

    mutating func add(_ event: MultipartReader.Event) {
        if case .content(let more) = event {
            expect(!more.isEmpty, "an empty piece of content")
            if case .content(let bytes)? = events.last {
                events[events.count - 1] = .content(bytes + more)
                return
            }
        }
        events.append(event)
    }

    init(_ chunks: [[UInt8]], _ reader: MultipartReader) {
        var reader = reader
        do throws(MultipartError) {
            for chunk in chunks {
                reader.append(chunk)
                while let event = try reader.next() { add(event) }
            }
            isComplete = reader.isComplete
            try reader.finish()
        } catch {
            self.error = error
        }
    }
}

private func multipartReader(_ input: inout Input) {
    let (seed, settings) = (input.byte(), input.byte())
    guard let boundary = MultipartBoundary(input.shortText()) else { return }
    let bytes = input.bytes()
    let reader =
        settings == 0
        ? MultipartReader(boundary: boundary)
        : MultipartReader(boundary: boundary, headLimitBytes: Int(settings & 0x7F), maxParts: Int(settings >> 4))
    let results = divisions(of: bytes, seed: seed).map { MultipartResult($0, reader) }
    for result in results.dropFirst() { expectEqual(result, results[0], "the parts depend on the chunks") }
    let result = results[0]
    expectEqual(result.isComplete, result.error == nil, "a body is complete, or there is an error")

    var (isWithin, parts, contentBytes) = (false, 0, 0)
    for event in result.events {
        switch event {
        case .head(let head):
            expect(!isWithin, "a head within a part")
            (isWithin, parts) = (true, parts + 1)
            for field in head.headers { expect(HTTPField.isValidValue(field.value), "an invalid field") }
            _ = (head.name, head.fileName, head.contentType)
        case .content(let content):
            expect(isWithin, "content outside of a part")
            contentBytes += content.count
            expect(!content.contains(bytes: Array("\r\n--\(boundary.text)\r\n".utf8)), "a delimiter within the content")
        case .end:
            expect(isWithin, "an end without a part")
            isWithin = false
        }
    }
    if settings != 0 { expect(parts <= Int(settings >> 4), "more parts than the limit") }
    expect(contentBytes <= bytes.count, "more content than there are bytes")
    expect(result.error != nil || !isWithin, "a part without an end")

    // The lenient search of the redaction, over the same bytes.
    for section in MultipartSection.parts(of: bytes, boundary: boundary.text, includingFragments: true) {
        expect(section.head.upperBound <= bytes.count && section.content.upperBound <= bytes.count, "a part ends after the body")
    }
    _ = MultipartSection.boundary(atFrontOf: bytes)
}

private struct SentPart {
    var name: String
    var fileName: String?
    var contentType: String?
    var content: [UInt8]
}

/// Names and files' names of any characters become one part each, and add no field.
private func multipartWriter(_ input: inout Input) {
    guard let boundary = MultipartBoundary("b") else { return }
    let seed = input.byte()
    let writer = MultipartWriter(boundary: boundary)
    var (body, sent): ([UInt8], [SentPart]) = ([], [])
    while !input.isEmpty, sent.count < 8 {
        let settings = input.byte()
        let part = SentPart(
            name: input.shortText(), fileName: settings & 1 == 0 ? nil : input.shortText(),
            contentType: settings & 2 == 0 ? nil : input.shortText(), content: input.shortBytes())
        guard !part.content.withUnsafeBytes({ writer.isDelimiter(in: $0) }) else { return }
        let start = try? writer.start(
            isFirst: sent.isEmpty, name: part.name, fileName: part.fileName, contentType: part.contentType)
        guard let start else {
            expect(part.contentType != nil, "a part without a media type is refused")
            return
        }
        body += start + part.content
        sent.append(part)
    }
    body += writer.end(isEmpty: sent.isEmpty)

    let result = MultipartResult(pieces(of: body, seed: seed), MultipartReader(boundary: boundary))
    if result.error?.code == .invalidHead {
        // Control characters in names are sent as they are, as browsers do.
        let names = sent.flatMap { [$0.name, $0.fileName ?? ""] }
        expect(names.contains { $0.utf8.contains { $0 < 0x20 || $0 == 0x7F } }, "a name makes a head invalid")
        return
    }
    if result.error?.code == .headTooLong { return }
    expectEqual(result.error, nil, "a form can't be read again")
    var read: [(head: MultipartHead, content: [UInt8])] = []
    for event in result.events {
        switch event {
        case .head(let head): read.append((head, []))
        case .content(let bytes): read[read.count - 1].content += bytes
        case .end: break
        }
    }
    expectEqual(read.count, sent.count, "the number of the parts")
    for (part, original) in zip(read, sent) {
        expectEqual(part.content, original.content, "the content of a part")
        expectEqual(part.head.headers.count, original.contentType == nil ? 1 : 2, "the fields of a part")
        guard (part.head.headers[.contentDisposition] ?? "").utf8.count <= 8192, !hasBackslash(original) else { continue }
        expectEqual(part.head.name, MultipartWriter.escaped(original.name), "the name of a part")
        expectEqual(part.head.fileName, original.fileName.map(MultipartWriter.escaped), "the name of a file")
    }
}

/// A backslash is written as it is, as browsers do, and readers differ in what it means.
private func hasBackslash(_ part: SentPart) -> Bool {
    [part.name, part.fileName ?? ""].contains { $0.utf8.contains(UInt8(ascii: "\\")) }
}
