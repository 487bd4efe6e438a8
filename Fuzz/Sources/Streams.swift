import ErrandFormats

// Parsers of bodies that arrive in chunks: the items must not depend on where the chunks end.

let streamTargets = [
    Target("event-stream", eventStream), Target("lines", lines), Target("json-lines", jsonLines), Target("json-sequence", jsonSequence),
]

/// Limits that are reached, and one that is not.
private func limit(_ setting: UInt8) -> Int { setting & 1 == 0 ? 1024 * 1024 : 1 + Int(setting >> 1) }

// MARK: Event streams

private struct EventStreamResult: Equatable {
    var items: [EventStreamParser.Item] = []
    var error: EventTooLargeError?
    var lastEventID = ""
    var reconnectionTime: Duration?
}

private func eventStream(_ input: inout Input) {
    let (seed, settings) = (input.byte(), input.byte())
    let limit = limit(settings & 0x7F)
    let reportsComments = settings & 0x80 != 0
    let bytes = input.bytes()
    let results = divisions(of: bytes, seed: seed).map { chunks -> EventStreamResult in
        var parser = EventStreamParser(eventLimitBytes: limit, reportsComments: reportsComments)
        var result = EventStreamResult()
        do throws(EventTooLargeError) {
            for chunk in chunks {
                parser.append(chunk)
                while let item = try parser.next() { result.items.append(item) }
            }
        } catch {
            result.error = error
            parser.append(bytes)
            expect(thrown { _ = try parser.next() } != nil, "an error is not thrown again")
        }
        (result.lastEventID, result.reconnectionTime) = (parser.lastEventID, parser.reconnectionTime)
        return result
    }
    for result in results.dropFirst() { expectEqual(result, results[0], "the events depend on the chunks") }
    for case .event(let event) in results[0].items {
        // An octet that is not UTF-8 becomes three.
        expect(event.data.utf8.count <= limit * 3, "an event is longer than the limit")
    }
    guard results[0].error == nil else { return }
    expectEqual(results[0].items, plainEvents(bytes, reportsComments: reportsComments), "the events are not those of the standard")
}

/// The standard's algorithm, in the plainest form ([HTML, section 9.2.6](https://html.spec.whatwg.org/multipage/server-sent-events.html)).
private func plainEvents(_ bytes: [UInt8], reportsComments: Bool) -> [EventStreamParser.Item] {
    var items: [EventStreamParser.Item] = []
    var (data, type, id, lastID): ([[UInt8]], String, String, String) = ([], "", "", "")
    let rest = bytes.starts(with: [0xEF, 0xBB, 0xBF]) ? bytes[3...] : bytes[...]
    for line in plainLines(Array(rest)).complete {
        if line.isEmpty {
            lastID = id
            if !data.isEmpty {
                let text = Array(data.joined(separator: [0x0A])).text
                items.append(.event(ServerSentEvent(data: text, type: type.isEmpty ? "message" : type, lastEventID: lastID)))
            }
            (data, type) = ([], "")
            continue
        }
        if line.first == UInt8(ascii: ":") {
            if reportsComments { items.append(.comment(line.dropFirst().text)) }
            continue
        }
        let name = line.prefix { $0 != UInt8(ascii: ":") }
        var value = line.dropFirst(name.count + 1)
        if value.first == 0x20 { value = value.dropFirst() }
        switch name.text {
        case "data" where name.count == 4: data.append(Array(value))
        case "event" where name.count == 5: type = value.text
        case "id" where name.count == 2 && !value.contains(0): id = value.text
        default: break
        }
    }
    return items
}

/// The lines that end with LF, CR LF or CR, and what follows the last one.
private func plainLines(_ bytes: [UInt8]) -> (complete: [[UInt8]], rest: [UInt8]) {
    var (lines, line, isAfterReturn): ([[UInt8]], [UInt8], Bool) = ([], [], false)
    for byte in bytes {
        defer { isAfterReturn = byte == 0x0D }
        if byte == 0x0A, isAfterReturn { continue }
        if byte == 0x0A || byte == 0x0D {
            lines.append(line)
            line = []
        } else {
            line.append(byte)
        }
    }
    return (lines, line)
}

// MARK: Lines

private func lines(_ input: inout Input) {
    let seed = input.byte()
    let bytes = input.bytes()
    let plain = plainLines(bytes)
    let expected = (plain.complete + (plain.rest.isEmpty ? [] : [plain.rest])).map(\.text)
    for chunks in divisions(of: bytes, seed: seed) {
        var (splitter, found) = (LineSplitter(), [String]())
        for chunk in chunks {
            splitter.append(chunk)
            while let line = splitter.next() { found.append(line) }
        }
        if let last = splitter.finish() { found.append(last) }
        expectEqual(found, expected, "the lines depend on the chunks")
    }
}

// MARK: JSON texts

private struct TextsResult<Item: Equatable>: Equatable {
    var items: [Item] = []
    var error: JSONTextTooLargeError?
}

private func jsonLines(_ input: inout Input) {
    let (seed, limit) = (input.byte(), limit(input.byte()))
    let bytes = input.bytes()
    let results = divisions(of: bytes, seed: seed).map { chunks -> TextsResult<JSONLineSplitter.Line> in
        var splitter = JSONLineSplitter(lineLimitBytes: limit)
        var result = TextsResult<JSONLineSplitter.Line>()
        do throws(JSONTextTooLargeError) {
            for chunk in chunks {
                splitter.append(chunk)
                while let line = try splitter.next() { result.items.append(line) }
            }
            if let line = try splitter.finish() { result.items.append(line) }
        } catch {
            result.error = error
            expect(thrown { _ = try splitter.finish() } != nil, "an error is not thrown again")
        }
        return result
    }
    for result in results.dropFirst() { expectEqual(result, results[0], "the lines depend on the chunks") }
    for line in results[0].items { expect(line.bytes.count <= limit && !line.bytes.contains(0x0A), "a line is too long, or several") }
    guard results[0].error == nil else { return }
    let lines = bytes.split(separator: 0x0A, omittingEmptySubsequences: false).enumerated()
        .filter { !$0.element.allSatisfy(\.isSpace) }
    expectEqual(results[0].items.map(\.bytes), lines.map { Array($0.element) }, "the lines are not those between the line feeds")
    expectEqual(results[0].items.map(\.number), lines.map { $0.offset + 1 }, "the numbers of the lines")
}

private func jsonSequence(_ input: inout Input) {
    let (seed, limit) = (input.byte(), limit(input.byte()))
    let bytes = input.bytes()
    let results = divisions(of: bytes, seed: seed).map { chunks -> TextsResult<JSONSequenceSplitter.Item> in
        var splitter = JSONSequenceSplitter(textLimitBytes: limit)
        var result = TextsResult<JSONSequenceSplitter.Item>()
        do throws(JSONTextTooLargeError) {
            for chunk in chunks {
                splitter.append(chunk)
                while let item = try splitter.next() { result.items.append(item) }
            }
            if let item = try splitter.finish() { result.items.append(item) }
        } catch {
            result.error = error
            expect(thrown { _ = try splitter.finish() } != nil, "an error is not thrown again")
        }
        return result
    }
    for result in results.dropFirst() { expectEqual(result, results[0], "the texts depend on the chunks") }
    for (index, item) in results[0].items.enumerated() {
        expect(item.bytes.count <= limit && !item.bytes.contains(0x1E), "a text is too long, or several")
        expectEqual(item.number, index + 1, "the number of a text")
        // A number, `true`, `false` and `null` need white space after them.
        if item.isCutOff, let value = try? JSONValue(parsing: item.bytes) {
            switch value {
            case .object, .array, .string: fail("a whole text counts as cut off")
            default: expect(item.bytes.last?.isSpace == false, "a whole text counts as cut off")
            }
        }
    }
    guard results[0].error == nil else { return }
    let kept = results[0].items.flatMap(\.bytes).filter { !$0.isSpace }
    expectEqual(kept, bytes.filter { $0 != 0x1E && !$0.isSpace }, "bytes of the texts are lost")
}
