import HTTPTypes

@testable import ErrandFormats

let fieldTargets = [
    Target("content-disposition", contentDisposition), Target("extended-value", extendedValue), Target("link", link),
    Target("content-range", contentRange), Target("http-date", httpDate), Target("media-type", mediaType),
    Target("rfc3339-date", rfc3339Date), Target("challenges", challenges), Target("retry-after", retryAfter),
    Target("rate-limit", rateLimit), Target("alt-svc", altSvc), Target("entity-tag", entityTag), Target("cookie-date", cookieDate),
    Target("strict-transport-security", strictTransportSecurity), Target("set-cookie", setCookie),
    Target("cache-control", cacheControl),
]

private func isControl(_ byte: UInt8) -> Bool { byte < 0x20 || byte == 0x7F }

private func contentDisposition(_ input: inout Input) {
    guard let value = ContentDisposition(input.text()) else { return }
    let name = value.safeFileName()
    expect(!name.isEmpty && name.utf8.count <= ContentDisposition.safeFileNameLimitBytes, "a file's name of \(name.utf8.count) bytes")
    expect(!name.utf8.contains { isControl($0) || "/\\:*?\"<>|".utf8.contains($0) }, "an unsafe name of a file: \(name)")
    expect(name.utf8.first != UInt8(ascii: ".") && name.utf8.last != UInt8(ascii: ".") && name.utf8.last != 0x20, "a dot or a space")
    expectEqual(ContentDisposition(type: "attachment", fileName: name).safeFileName(), name, "a safe name is not safe")

    let written = value.description
    guard written.utf8.count <= FieldLimits.valueBytes else { return }
    expect(HTTPField.isValidValue(written), "not the value of a field: \(written)")
    let names = [value.name ?? "", value.fileName ?? ""]
    // They become something else.
    guard !names.contains(where: { $0.utf8.contains(where: isControl) }) else { return }
    expectEqual(ContentDisposition(written), value, "a value changes when it is written and read")
}

private func extendedValue(_ input: inout Input) {
    let text = input.text()
    _ = ExtendedValue.decode(text)
    expectEqual(ExtendedValue.decode(ExtendedValue.encode(text)), text, "a text changes when it is encoded and decoded")
}

private func link(_ input: inout Input) {
    let (first, second) = (input.shortText(), input.text())
    let (links, isComplete) = WebLink.parseReportingCompleteness([first, second])
    expect(isComplete || links.count < 256, "all links are there, and one is left out")
    expectEqual(links, WebLink.parse([first]) + WebLink.parse([second]), "two fields are not two lists of links")
    expect(links.count <= 256, "more links than the limit")
    for link in links {
        expect(!link.relations.isEmpty && link.relations.allSatisfy { !$0.isEmpty && $0 == $0.lowercased() }, "relations")
        expect(link.relations.allSatisfy { link.isRelated(as: $0) }, "a relation that is none")
        expect(!link.target.utf8.contains { "<>".utf8.contains($0) }, "a target with angle brackets")
        expect(link.extensions.count <= 32, "more parameters than the limit")
    }
}

private func cacheControl(_ input: inout Input) {
    let text = input.text()
    let control = CacheControl([text])
    let numbers = [control.maxAge, control.sharedMaxAge, control.minFresh, control.staleWhileRevalidate, control.staleIfError]
    for case let number? in numbers { expect((0...CacheControl.longestSeconds).contains(number), "a number of \(number) seconds") }
    expect(control.noCacheFields.count <= 64 && control.privateFields.count <= 64, "more names than the limit")
    // A later directive that forbids something is not hidden, and a later lifetime prolongs nothing.
    expect(CacheControl([text + ", no-store"]).contains(.noStore), "a directive is hidden")
    expectEqual(CacheControl([text, "no-store"]).contains(.noStore), true, "a field is hidden")
    let later = CacheControl([text, "max-age=60"]).maxAge
    expect(later == control.maxAge || later == 0 || control.maxAge == nil && later == 60, "a later lifetime counts")
    if case .names(let names) = VaryField(HTTPFields([HTTPField(name: .vary, value: text)])) {
        expect(names.count <= VaryField.namesLimit && Set(names).count == names.count, "more names than the limit, or a name twice")
    }
    otherFieldsOfCaches(text)
}

/// Reads the text as `Age`, as `Expires`, as the fields of groups, and as `No-Vary-Search`.
private func otherFieldsOfCaches(_ text: String) {
    var fields = HTTPFields()
    for name in ["Age", "Expires", "Cache-Groups", "Cache-Group-Invalidation", "No-Vary-Search"].compactMap({ HTTPField.Name($0) }) {
        fields.append(HTTPField(name: name, value: text))
    }
    if let age = AgeField.seconds(fields) { expect((0...CacheControl.longestSeconds).contains(age), "an age of \(age) seconds") }

    let now = HTTPDate(secondsSinceEpoch: 1_700_000_000)
    expect(ExpiresField(fields, now: now) != .missing, "a field is missing")
    var different = fields
    different.append(HTTPField(name: .expires, value: "0"))
    expect(ExpiresField(different, now: now) == .invalid, "a field with different values is a date")

    let groups = CacheGroups.named(in: fields)
    expectEqual(CacheGroups.invalidated(by: fields), groups, "a group has another name in the other field")
    expect(groups.count <= CacheGroups.countLimit, "more groups than the limit")
    expect(groups.allSatisfy { $0.utf8.count <= CacheGroups.nameBytes }, "a longer name of a group than the limit")

    let search = NoVarySearch(fields)
    let forms = ["a=1&b=2", "a=1&b=2&&", "%61=1&b=%32"].map { search.normalForm(of: Substring($0)) }
    expect(Set(forms).count == 1, "equal parameters have different forms")
}

private func entityTag(_ input: inout Input) {
    let text = input.text()
    let condition = EntityTagCondition(text)
    if let tag = EntityTag(text) {
        expectEqual(EntityTag(tag.description), tag, "a tag changes when it is written and read")
        expectEqual(EntityTag(opaque: tag.opaque, isWeak: tag.isWeak), tag, "a tag that was read can't be made")
        expectEqual(condition, .tags([tag]), "a tag is no list of one tag")
        expect(tag.matches(tag, by: .weak) && tag.matches(tag, by: .strong) == !tag.isWeak, "a tag does not match itself")
    }
    guard let condition else { return }
    let written = condition.description
    if written.utf8.count <= FieldLimits.valueBytes {
        expectEqual(EntityTagCondition(written), condition, "a list changes when it is written and read")
    }
    guard case .tags(let tags) = condition else { return }
    expect((1...128).contains(tags.count), "more tags than the limit")
    for tag in tags { expect(condition.matches(tag, by: .weak) && HTTPField.isValidValue(tag.description), "a tag of the list") }
}

private func contentRange(_ input: inout Input) {
    let length = input.shortBytes().prefix(8).reduce(Int64(0)) { ($0 << 8) | Int64($1) } & .max
    let text = input.text()
    if let range = ContentRange(text) {
        expectEqual(ContentRange(range.description), range, "a range changes when it is written and read")
        expect(range.range.map { !$0.isEmpty && $0.lowerBound >= 0 } ?? (range.completeLength != nil), "a range that is none")
        if let bytes = range.range, let length = range.completeLength { expect(bytes.upperBound <= length, "a range after the end") }
    }
    guard let ranges = ByteRange.parse(text) else { return }
    expect((1...128).contains(ranges.count), "more ranges than the limit")
    guard let field = ByteRange.field(ranges) else { fail("ranges that were read can't be written") }
    expectEqual(ByteRange.parse(field) ?? [], field.utf8.count <= FieldLimits.valueBytes ? ranges : [], "ranges change")
    for range in ranges {
        guard let bytes = range.resolved(length: length) else { continue }
        expect(!bytes.isEmpty && bytes.lowerBound >= 0 && bytes.upperBound <= length, "bytes outside of the representation")
    }
}

/// An instant from 1970 to the year 9999.
private func instant(_ bytes: [UInt8]) -> HTTPDate {
    HTTPDate(secondsSinceEpoch: bytes.prefix(5).reduce(Int64(0)) { ($0 << 8) | Int64($1) } % 253_402_300_800)
}

private func httpDate(_ input: inout Input) {
    let now = instant(input.shortBytes())
    expectEqual(HTTPDate(now.description, now: now), now, "an instant changes when it is written and read")
    expectEqual(HTTPDate(strict: now.description, now: now), now, "an instant changes when it is written and read strictly")
    let text = input.text()
    let strict = HTTPDate(strict: text, now: now)
    if strict != nil { expectEqual(HTTPDate(text, now: now), strict, "the lenient reading is another date") }
    guard let date = HTTPDate(text, now: now) else { return }
    let again = HTTPDate(date.description, now: now)
    // A leap second is the first second of the next minute, which may be in the year 10000; the year 0000 has none before it.
    let isInRange = (-62_167_219_200..<253_402_300_800).contains(date.secondsSinceEpoch)
    if isInRange { expectEqual(again, date, "a date changes when it is written and read") }
}

private func cookieDate(_ input: inout Input) {
    let text = input.text()
    guard let date = HTTPDate(cookieDate: text) else { return }
    expect((-11_644_473_600..<253_402_300_800).contains(date.secondsSinceEpoch), "\(date.secondsSinceEpoch) seconds")
    expectEqual(HTTPDate(cookieDate: date.description), date, "a date changes when it is written and read")
    expectEqual(HTTPDate(cookieDate: text + " 1 Jan 2000 00:00:00"), date, "what follows a date changes it")
}

private func setCookie(_ input: inout Input) {
    let now = instant(input.shortBytes())
    let bytes = input.bytes()
    let read = try? bytes.withUnsafeBufferPointer { octets throws(SetCookie.Problem) in try SetCookie(octets: octets) }
    guard let cookie = read else { return }
    let (name, value) = (cookie.name.utf8, cookie.value.utf8)
    expect((1...4_096).contains(name.count + value.count), "a cookie of \(name.count + value.count) bytes")
    for text in [name, value] {
        expect(!text.contains { isControl($0) && $0 != 0x09 || $0 == UInt8(ascii: ";") }, "an octet that can't be sent")
        expect(![0x09, 0x20].contains(text.first) && ![0x09, 0x20].contains(text.last), "white space at an end")
    }
    expect(!name.contains(UInt8(ascii: "=")) && cookie.domain != "" && cookie.path?.utf8.first ?? 0x2F == 0x2F, "a part that is none")
    expect([cookie.domain, cookie.path].allSatisfy { $0?.utf8.count ?? 0 <= 3 * 1_024 }, "an attribute over the limit")
    if let expiry = cookie.expiry(receivedAt: now) {
        let seconds = expiry.secondsSinceEpoch - now.secondsSinceEpoch
        expect(seconds <= 34_560_000 && (cookie.maxAge ?? .zero <= .zero || seconds > 0), "\(seconds) seconds to live")
    }
    let pair = SetCookie(cookie.name + "=" + cookie.value)
    expect(pair?.name.isExactly(cookie.name) == true && pair?.value.isExactly(cookie.value) == true, "a pair changes")
    let longer = SetCookie(bytes.text + "; Max-Age=7; Domain=.X; Path=/x; Secure; HttpOnly; SameSite=Lax")
    expect(longer?.maxAge == .seconds(7) && longer?.domain == "x" && longer?.path == "/x", "the last attribute does not count")
    expect(longer?.isSecure == true && longer?.isHTTPOnly == true && longer?.sameSite == .lax, "the last attribute does not count")
    var writer = CookieFieldWriter(limitBytes: FieldLimits.valueBytes)
    let hasRoom = writer.append(cookie.name, cookie.value) && writer.append("a", "b")
    let written = (cookie.name.isEmpty ? "" : cookie.name + "=") + cookie.value + "; a=b"
    expect(hasRoom && writer.octets == Array(written.utf8), "what is written differs")
    _ = cookie.description
}

private func rfc3339Date(_ input: inout Input) {
    let text = input.text()
    let date: RFC3339Date
    do {
        date = try RFC3339Date(text)
    } catch {
        expect(!text.isEmpty || error == .form, "an empty text is \(error)")
        return
    }
    expect(text.utf8.count <= FieldLimits.shortValueBytes, "a date of \(text.utf8.count) bytes")
    expect((0..<1_000_000_000).contains(date.nanoseconds), "\(date.nanoseconds) nanoseconds")
    // A day more than the years 0000 to 9999, for the offset.
    expect((-62_167_305_600..<253_402_387_200).contains(date.secondsSinceEpoch), "\(date.secondsSinceEpoch) seconds")
    // `t`, `z` and a space are the same.
    expectEqual(try? RFC3339Date(text.lowercased()), date, "lower case is another date")
    let spaced = text.utf8.enumerated().map { $0.offset == 10 ? UInt8(ascii: " ") : $0.element }
    expectEqual(try? RFC3339Date(String(decoding: spaced, as: UTF8.self)), date, "a space in place of the T is another date")
    // An instant is the same in UTC.
    let days = date.secondsSinceEpoch / 86_400 - (date.secondsSinceEpoch % 86_400 < 0 ? 1 : 0)
    let (year, month, day) = CivilCalendar.date(ofDay: days)
    guard (0...9999).contains(year) else { return }
    func padded(_ number: Int, _ count: Int) -> String { String(repeating: "0", count: max(0, count - "\(number)".count)) + "\(number)" }
    let rest = Int(date.secondsSinceEpoch - days * 86_400)
    let time = [rest / 3600, rest / 60 % 60, rest % 60].map { padded($0, 2) }.joined(separator: ":")
    let written = "\(padded(year, 4))-\(padded(month, 2))-\(padded(day, 2))T\(time).\(padded(date.nanoseconds, 9))Z"
    expectEqual(try? RFC3339Date(written), date, "a date changes when it is written and read")
}

private func mediaType(_ input: inout Input) {
    let text = input.text()
    guard let type = MediaType(text) else { return }
    expect(type.parameters.count <= 32, "more parameters than the limit")
    expectEqual(Set(type.parameters.map(\.name)).count, type.parameters.count, "two parameters with one name")
    _ = type.isJSON
    let written = type.description
    guard written.utf8.count <= FieldLimits.valueBytes else { return }
    expectEqual(MediaType(written), type, "a media type changes when it is written and read")
}

private func challenges(_ input: inout Input) {
    let (first, second) = (input.shortText(), input.text())
    let challenges = AuthenticationChallenge.parse([first, second])
    expectEqual(
        challenges, AuthenticationChallenge.parse([first]) + AuthenticationChallenge.parse([second]), "two fields are not two lists")
    expect(challenges.count <= 64, "more challenges than the limit")
    for challenge in challenges {
        expect(!challenge.scheme.isEmpty && challenge.scheme.utf8.allSatisfy(\.isTokenOctet), "a scheme that is no token")
        expect(challenge.parameters.count <= 32, "more parameters than the limit")
        expectEqual(Set(challenge.parameters.map(\.name)).count, challenge.parameters.count, "two parameters with one name")
        expect(challenge.token68 == nil || challenge.parameters.isEmpty, "parameters and a token")
        expect(!challenge.description.utf8.contains(where: isControl), "a control character in a description")
    }
}

private func strictTransportSecurity(_ input: inout Input) {
    let text = input.text()
    guard let policy = StrictTransportSecurity(text) else { return }
    expect(text.utf8.count <= FieldLimits.valueBytes, "a value of \(text.utf8.count) bytes")
    expect(policy.maxAge >= .zero && policy.maxAge <= .seconds(1 << 31), "an age of \(policy.maxAge)")
    expect(policy.maxAge.components.attoseconds == 0, "a part of a second")
    expectEqual(StrictTransportSecurity(policy.description), policy, "a value changes when it is written and read")
    expectEqual(StrictTransportSecurity(maxAge: policy.maxAge, includesSubdomains: policy.includesSubdomains), policy, "a made value")
    if text.utf8.count <= FieldLimits.valueBytes - 20 {
        expectEqual(StrictTransportSecurity(text + ";other"), policy, "another directive changes the value")
        expectEqual(StrictTransportSecurity(text + ";max-age=1"), nil, "a second max-age is accepted")
    }
}

private func retryAfter(_ input: inout Input) {
    let now = instant(input.shortBytes())
    let date = input.shortText()
    guard let wait = RetryAfter.wait(input.text(), date: date.isEmpty ? nil : date, now: now) else { return }
    expect(wait >= .zero && wait <= .seconds(1 << 40), "a wait of \(wait)")
}

private let rateLimitNames: [HTTPField.Name] = [
    "Retry-After", "Date", "X-RateLimit-Retry-After", "RateLimit", "RateLimit-Policy", "RateLimit-Limit", "RateLimit-Remaining",
    "RateLimit-Reset", "X-RateLimit-Limit", "X-RateLimit-Remaining", "X-RateLimit-Reset", "X-RateLimit-Reset-After",
    "X-Rate-Limit-Limit", "X-Rate-Limit-Remaining", "X-Rate-Limit-Reset",
].compactMap { HTTPField.Name($0) }

private func rateLimit(_ input: inout Input) {
    let settings = input.byte()
    var fields = HTTPFields()
    while !input.isEmpty, fields.count < 8 {
        let name = rateLimitNames[Int(input.byte()) % rateLimitNames.count]
        fields.append(HTTPField(name: name, value: input.shortText()))
    }
    let response = HTTPResponse(status: settings & 1 == 0 ? .tooManyRequests : .ok, headerFields: fields)
    let limits = RateLimitFields(response, now: HTTPDate(secondsSinceEpoch: 1_700_000_000))
    expect(limits.retryAfter.map { $0 >= .zero && $0 <= .seconds(1 << 40) } ?? true, "a wait out of bounds")
    expect(limits.quotas.count <= 8 && (limits.retryAfter == nil || limits.quotas.isEmpty), "more quotas than the limit")
    for quota in limits.quotas {
        expect(quota.remaining >= 0 && quota.limit ?? 0 >= 0, "a negative number of requests")
        for duration in [quota.reset, quota.window ?? .zero] {
            expect(duration >= .zero && duration <= .seconds(1 << 40), "a duration out of bounds")
        }
    }
}

private func altSvc(_ input: inout Input) {
    let services = AlternativeService.parse(input.text())
    expect(services.count <= 32, "more services than the limit")
    for service in services {
        expect((1...65_535).contains(service.port), "a port out of range")
        expect(service.maxAge >= .zero && service.maxAge <= .seconds(Int64(1) << 31), "an age out of bounds")
        expect(!(service.host ?? "a").isEmpty, "an empty host")
        let written = service.description
        guard written.utf8.count <= FieldLimits.valueBytes else { continue }
        expectEqual(AlternativeService.parse(written), [service], "a service changes when it is written and read")
    }
}
