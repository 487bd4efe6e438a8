@testable import ErrandCore
@testable import ErrandFormats
@testable import ErrandRedaction

let redactionTargets = [
    Target("redact", redact), Target("redact-json", redactJSON), Target("redact-form", redactForm),
    Target("redact-multipart", redactMultipart), Target("redact-stream", redactStream),
    Target("redact-broken", redactBroken), Target("redact-read", redactRead), Target("scrub", scrub),
]

/// The planted secret. The beginning suffices to show that it was not replaced.
private let secret = "hunter2-s3cr3t"
private let secretBeginning = ByteSearch(Array("hunter2-s".utf8))

private let types: [String?] = [
    nil, "application/json", FormURLEncoded.mediaType, "multipart/form-data; boundary=b", "text/event-stream", "application/json-seq",
    "application/x-ndjson", "text/plain", "application/xml", "text/html", "application/octet-stream", "text/plain; charset=utf-16",
]

private func redaction(_ bytes: [UInt8], _ type: String?, isCut: Bool = false, keepsBinary: Bool = false) -> [UInt8] {
    let found = Findings(
        in: bytes, type: type.flatMap { MediaType($0) }, sensitivity: .standard, isCut: isCut, keepsBinary: keepsBinary)
    var end = 0
    for edit in found.edits {
        expect(edit.range.lowerBound >= end && edit.range.upperBound <= bytes.count, "replacements that overlap")
        end = edit.range.upperBound
    }
    return found.edits.applied(to: bytes)
}

/// Any bytes, of any type: only that it ends, and stays within the bytes.
private func redact(_ input: inout Input) {
    let settings = input.byte()
    let type = types[Int(settings & 0x3F) % types.count]
    let bytes = input.bytes()
    _ = redaction(bytes, type, isCut: settings & 0x40 != 0, keepsBinary: settings & 0x80 != 0)
    let text = bytes.text
    _ = (Sensitivity.standard.redactedURL(text), Sensitivity.standard.secretValues(inURL: text))
}

// MARK: - A secret that is planted

/// Puts the secret into the value as a member of an object, at a place that `path` chooses.
private func planted(_ value: JSONValue, _ path: inout ArraySlice<UInt8>) -> JSONValue {
    let step = Int(path.popFirst() ?? 0)
    switch value {
    case .array(var elements) where !elements.isEmpty:
        elements[step % elements.count] = planted(elements[step % elements.count], &path)
        return .array(elements)
    case .object(var members):
        let names = members.keys.sorted()
        if !names.isEmpty, step & 1 == 1 {
            let name = names[(step >> 1) % names.count]
            members[name] = planted(members[name] ?? .null, &path)
        } else {
            members["password"] = step & 2 == 0 ? .string(secret) : .array([.string(secret)])
        }
        return .object(members)
    default: return .object(["x": value, "password": .string(secret)])
    }
}

private func redactJSON(_ input: inout Input) {
    let path = input.shortBytes()
    let (settings, cut) = (input.byte(), Int(input.byte()))
    guard let value = try? JSONValue(parsing: input.bytes()) else { return }
    var rest = path[...]
    let planted = planted(value, &rest)
    let whole = planted.bytes(isIndented: settings & 1 == 1)
    // Even below the depth limit of a value, the secret is replaced.
    let type = settings & 2 == 0 ? "application/json" : nil
    let redacted = redaction(whole, type)
    expect(!secretBeginning.isIn(redacted), "a secret in JSON is not replaced: \(whole.text)")
    if (try? JSONValue(parsing: whole)) != nil {
        expect((try? JSONValue(parsing: redacted)) != nil, "JSON is not JSON without its secrets: \(redacted.text)")
    }
    let beginning = Array(whole.prefix(whole.count * cut / 256))
    expect(!secretBeginning.isIn(redaction(beginning, type, isCut: true)), "a secret in truncated JSON is not replaced: \(beginning.text)")
}

private func redactForm(_ input: inout Input) {
    let (place, cut) = (Int(input.byte()), Int(input.byte()))
    var pairs: [(name: String, value: String)] = []
    while !input.isEmpty, pairs.count < 16 { pairs.append((input.shortText(), input.shortText())) }
    pairs.insert(("password", secret), at: place % (pairs.count + 1))
    let text = FormURLEncoded.encode(pairs)
    let whole = Array(text.utf8)
    expect(!secretBeginning.isIn(redaction(whole, FormURLEncoded.mediaType)), "a secret in a form is not replaced: \(text)")
    let beginning = Array(whole.prefix(whole.count * cut / 256))
    let redacted = redaction(beginning, FormURLEncoded.mediaType, isCut: true)
    expect(!secretBeginning.isIn(redacted), "a secret in a truncated form is not replaced: \(beginning.text)")
    let query = Sensitivity.standard.redactedQuery(text)
    expect(!secretBeginning.isIn(Array(query.utf8)), "a secret in a query is not replaced: \(text)")
    let url = Sensitivity.standard.redactedURL("https://a.example/b?\(text)#c")
    expect(!secretBeginning.isIn(Array(url.utf8)), "a secret in a URL is not replaced: \(text)")
}

private func redactMultipart(_ input: inout Input) {
    guard let boundary = MultipartBoundary("b") else { return }
    let (place, settings, cut) = (Int(input.byte()), input.byte(), Int(input.byte()))
    var parts: [(name: String, content: [UInt8])] = []
    while !input.isEmpty, parts.count < 8 { parts.append((input.shortText(), input.shortBytes())) }
    let writer = MultipartWriter(boundary: boundary)
    // Values that the writer refuses, or that lenient readers do not read as one line of a delimiter.
    guard !parts.contains(where: { $0.content.contains(bytes: Array("--b".utf8)) }) else { return }
    parts.insert(("password", Array(secret.utf8)), at: place % (parts.count + 1))
    var body: [UInt8] = []
    for (index, part) in parts.enumerated() {
        let isSecret = part.name == "password"
        let start = try? writer.start(
            isFirst: index == 0, name: part.name, fileName: settings & 1 == 0 || isSecret ? nil : "f", contentType: nil)
        body += (start ?? []) + part.content
    }
    body += writer.end(isEmpty: parts.isEmpty)
    let type = "multipart/form-data; boundary=b"
    expect(!secretBeginning.isIn(redaction(body, type)), "a secret in a form is not replaced: \(body.text)")
    expect(!secretBeginning.isIn(redaction(body, nil)), "a secret in a form without a type is not replaced: \(body.text)")
    let beginning = Array(body.prefix(body.count * cut / 256))
    let redacted = redaction(beginning, type, isCut: true)
    expect(!secretBeginning.isIn(redacted), "a secret in a truncated form is not replaced: \(beginning.text)")
}

/// JSON texts as lines, as a sequence, and as the data of events, with the secret in one of them.
private func redactStream(_ input: inout Input) {
    let (settings, place) = (input.byte(), Int(input.byte()))
    var texts: [[UInt8]] = []
    while !input.isEmpty, texts.count < 8 { texts.append(input.shortBytes().filter { $0 != 0x0A && $0 != 0x0D && $0 != 0x1E }) }
    texts.insert(JSONValue.object(["a": 1, "password": .string(secret)]).bytes(), at: place % (texts.count + 1))
    let (type, body): (String, [UInt8]) =
        switch settings % 3 {
        case 0: ("application/x-ndjson", Array(texts.joined(separator: [0x0A])))
        case 1: ("application/json-seq", texts.flatMap { [0x1E] + $0 + [0x0A] })
        default: ("text/event-stream", texts.flatMap { Array("data: ".utf8) + $0 + Array("\n\n".utf8) })
        }
    expect(!secretBeginning.isIn(redaction(body, type)), "a secret in \(type) is not replaced: \(body.text)")
}

/// Between any bytes, which make the JSON invalid.
private func redactBroken(_ input: inout Input) {
    let settings = input.byte()
    let before = input.shortBytes()
    let after = input.bytes()
    let body = before + JSONValue.object(["a": 1, "password": .string(secret)]).bytes() + after
    let type = settings & 1 == 0 ? "application/json" : nil
    let redacted = redaction(body, type, isCut: settings & 2 != 0)
    expect(!secretBeginning.isIn(redacted), "a secret in malformed JSON is not replaced: \(body.text)")
}

// MARK: - A secret that a parser of the library reads

/// Whatever the strict parsers read as the value of a sensitive name, the redaction finds, however it is written.
///
/// In the input, the byte 1 stands for the secret, 2 for a name, and 3 for the beginning of a part.
private func redactRead(_ input: inout Input) {
    let settings = input.byte()
    var (body, places): ([UInt8], Int) = ([], 0)
    for byte in input.bytes() {
        switch byte {
        case 1:
            body += secret.utf8
            places += 1
        case 2: body += "password".utf8
        case 3: body += "\r\n--b\r\nContent-Disposition: form-data; name=".utf8
        default: body.append(byte)
        }
    }
    guard places == 1 else { return }
    let (type, isRead): (String, Bool) =
        switch settings % 5 {
        case 0: ("application/json", (try? JSONValue(parsing: body)).map(holdsSecret) ?? false)
        case 1: (FormURLEncoded.mediaType, formHoldsSecret(body))
        case 2: ("multipart/form-data; boundary=b", multipartHoldsSecret(body))
        case 3: ("application/x-ndjson", linesHoldSecret(body))
        default: ("text/event-stream", eventsHoldSecret(body))
        }
    guard isRead else { return }
    expect(!secretBeginning.isIn(redaction(body, type)), "a secret in \(type) is not replaced: \(body.text)")
}

private func holdsSecret(_ value: JSONValue) -> Bool {
    switch value {
    case .array(let elements): elements.contains(where: holdsSecret)
    case .object(let members):
        members.contains { name, value in
            if case .string(let text) = value, name.lowercased() == "password", text.contains("hunter2-s") { return true }
            return holdsSecret(value)
        }
    default: false
    }
}

/// Only in a body that is a form: a client escapes white space.
private func formHoldsSecret(_ body: [UInt8]) -> Bool {
    guard body.allSatisfy({ $0 > 0x20 }) else { return false }
    return FormURLEncoded.decode(body.text).contains { $0.name.lowercased() == "password" && $0.value?.contains("hunter2-s") == true }
}

private func multipartHoldsSecret(_ body: [UInt8]) -> Bool {
    guard let boundary = MultipartBoundary("b") else { return false }
    var reader = MultipartReader(boundary: boundary)
    reader.append(body)
    var (isSensitive, isFound) = (false, false)
    while let event = try? reader.next() {
        switch event {
        case .head(let head): isSensitive = head.name?.lowercased() == "password"
        case .content(let content): if isSensitive, secretBeginning.isIn(content) { isFound = true }
        case .end: isSensitive = false
        }
    }
    // Readers differ about other bodies.
    return isFound && reader.isComplete
}

private func linesHoldSecret(_ body: [UInt8]) -> Bool {
    body.split(separator: 0x0A).contains { line in (try? JSONValue(parsing: line)).map(holdsSecret) ?? false }
}

private func eventsHoldSecret(_ body: [UInt8]) -> Bool {
    var parser = EventStreamParser()
    parser.append(body)
    while let item = try? parser.next() {
        if case .event(let event) = item, let value = try? JSONValue(parsing: event.data.utf8), holdsSecret(value) { return true }
    }
    return false
}

/// A registered secret is found in every escaped form, and in every surrounding text.
private func scrub(_ input: inout Input) {
    let settings = input.byte()
    let before = input.shortText()
    let after = input.shortText()
    let chosen = input.text()
    guard chosen.utf8.count >= 6 else { return }
    let scrubber = SecretScrubber([chosen])
    let plain = before + chosen + after
    let form: String
    var json: [UInt8] = []
    switch settings % 4 {
    case 0: form = plain
    case 1: form = FormURLEncoded.encode([(name: "a", value: plain)])
    case 2: form = PercentEncoding.encode(plain, allowing: .queryComponent)
    default:
        json.appendJSONString(plain)
        form = json.text
    }
    expect(scrubber.finds(in: Array(form.utf8)), "a secret is not found in \(form)")
    let scrubbed = scrubber.scrubbed(form)
    if !"REDACTED0".contains(chosen) { expect(scrubbed != form, "a secret is not replaced in \(form)") }
}
