import Foundation

@testable import ErrandCore
@testable import ErrandFormats

let urlTargets = [
    Target("form", form), Target("percent-encoding", percentEncoding), Target("url", url), Target("url-reference", urlReference),
    Target("path-template", pathTemplate), Target("url-query", urlQuery), Target("host", host),
]

private func form(_ input: inout Input) {
    let text = input.text()
    for plusIsSpace in [true, false] {
        let pairs = FormURLEncoded.decode(text, plusIsSpace: plusIsSpace)
        let written = FormURLEncoded.encode(pairs.map { (name: $0.name, value: $0.value ?? "") })
        let again = FormURLEncoded.decode(written)
        expectEqual(again.map(\.name), pairs.map(\.name), "the names of a form change")
        expectEqual(again.map { $0.value ?? "" }, pairs.map { $0.value ?? "" }, "the values of a form change")
        expect(written.utf8.allSatisfy { $0 > 0x20 && $0 < 0x7F }, "a form that is not ASCII")
    }
}

private func percentEncoding(_ input: inout Input) {
    let text = input.text()
    _ = PercentEncoding.firstInvalidByte(in: text, allowing: .path)
    for allowed in [URLCharacterSet.segment, .path, .query, .queryComponent, .shownURL, .host] {
        let encoded = PercentEncoding.encode(text, allowing: allowed)
        expectEqual(PercentEncoding.decode(encoded), text, "a text changes when it is encoded and decoded")
        expectEqual(PercentEncoding.decodedLeniently(encoded), text, "a text changes when it is encoded and decoded leniently")
        expect(PercentEncoding.firstInvalidByte(in: encoded, allowing: allowed) == nil, "encoded text is invalid")
    }
    if let decoded = PercentEncoding.decode(text) {
        expectEqual(PercentEncoding.decodedLeniently(text), decoded, "the lenient decoder reads valid text otherwise")
    }
}

/// The sent target must not contain the end of a line or of the target, and must not name another host.
private func check(_ url: HTTPURL, of text: String) {
    expect(url.scheme == "http" || url.scheme == "https", "a scheme of \(url.scheme)")
    expect(!url.host.isEmpty && (1...65_535).contains(url.effectivePort), "no host, or no port")
    expect(url.description.utf8.allSatisfy { $0 > 0x20 && $0 < 0x7F }, "a URL with an octet that must be escaped: \(url)")
    expect(url.target.utf8.first == UInt8(ascii: "/") || url.target.utf8.first == UInt8(ascii: "?"), "a target without a slash")
    expect(!url.authority.utf8.contains { "/?#@\\".utf8.contains($0) }, "an authority of more than a host and a port")
    guard url.description.utf8.count <= RequestTarget.limitBytes else { return }
    let again = try? HTTPURL(url.description)
    expectEqual(again?.description, url.description, "a URL changes when it is written and read")
    expectEqual(again?.origin, url.origin, "the origin of a URL changes")
    // A client of Foundation would go to the same host.
    if let other = URL(string: url.description) {
        expectEqual(
            other.host(percentEncoded: true), url.host.hasPrefix("[") ? String(url.host.dropFirst().dropLast()) : url.host, "the host")
        expectEqual(other.port, url.port, "the port")
    }
    _ = (url.debugDescription, text)
}

private func url(_ input: inout Input) {
    let endpoint = input.shortText()
    let text = input.text()
    let url = try? HTTPURL(text)
    if let url {
        check(url, of: text)
        // Without the fast way for usual URLs.
        let slow = (try? URLReference(text)).flatMap { try? HTTPURL($0) }
        expectEqual(slow, url, "the fast way reads another URL")
        if let joined = try? url.joined(with: endpoint) {
            check(joined, of: endpoint)
            expectEqual(joined.origin, url.origin, "an endpoint changes the origin")
        }
    }
    if let pasted = try? HTTPURL(pasted: text) {
        check(pasted, of: text)
        if let url { expectEqual(pasted, url, "a valid URL changes when it is pasted") }
    } else {
        expect(url == nil, "a valid URL can't be pasted")
    }
}

private func urlReference(_ input: inout Input) {
    let base = input.shortText()
    let text = input.text()
    let home = base
    if let named = try? URLReference(received: text) {
        expectEqual(try? URLReference(named.description), named, "a reference of a server changes when it is written and read")
        expect(!named.path.utf8.contains(UInt8(ascii: "\\")), "a backslash is left")
        if let base = try? URLReference(home.isEmpty ? "http://a.example/b/c/d;p?q" : home) {
            let resolved = named.resolved(against: base)
            if let url = try? HTTPURL(resolved) {
                check(url, of: text)
                if named.authority == nil, named.scheme == nil, let home = try? HTTPURL(base) {
                    expectEqual(url.origin, home.origin, "a relative reference of a server names another origin")
                }
            }
        }
    }
    guard let reference = try? URLReference(text) else { return }
    expectEqual(try? URLReference(received: text), reference, "a valid reference changes when a server has named it")
    expectEqual(reference.description, text, "a reference is not what was written")
    guard let base = try? URLReference(base.isEmpty ? "http://a.example/b/c/d;p?q" : base) else { return }
    let resolved = reference.resolved(against: base)
    if !reference.path.isEmpty || reference.authority != nil || reference.scheme != nil {
        let segments = resolved.path.utf8.split(separator: UInt8(ascii: "/"), omittingEmptySubsequences: false)
        expect(!segments.contains { $0.elementsEqual(".".utf8) || $0.elementsEqual("..".utf8) }, "a dot segment is left")
    }
    // Without a path of its own, it has that of the base, dots and all.
    if !reference.path.isEmpty {
        expectEqual(URLReference.removingDotSegments(resolved.path), resolved.path, "dot segments are removed in two steps")
    }
    if let url = try? HTTPURL(resolved) {
        check(url, of: text)
        if reference.authority == nil, reference.scheme == nil, let home = try? HTTPURL(base) {
            expectEqual(url.origin, home.origin, "a relative reference names another origin")
        }
    }
}

private func pathTemplate(_ input: inout Input) {
    let (first, second) = (input.shortText(), input.shortText())
    let value = input.text()
    let inQuery = PathTemplate("/a/\(first, "first")/b?q=\(value)&r=\(second)")
    if let target = try? inQuery.resolved().target {
        let (path, query) = RequestTarget.parts(of: target)
        expectEqual(path.utf8.filter { $0 == UInt8(ascii: "/") }.count, 3, "a value adds a segment: \(target)")
        expectEqual(query?.utf8.filter { $0 == UInt8(ascii: "&") }.count, 1, "a value adds an item: \(target)")
        let pairs = query.map { FormURLEncoded.decode($0, plusIsSpace: false) } ?? []
        expectEqual(pairs.map { $0.value ?? "" }, [value, second], "a value of the query changes")
        check(target)
    }
    let segments = PathTemplate("/\(value)/\(segments: [first, second])/x\(second)")
    if let target = try? segments.resolved().target {
        let parts = target.utf8.split(separator: UInt8(ascii: "/"), omittingEmptySubsequences: false).map { Substring($0) }
        expectEqual(parts.count, 5, "a value adds a segment: \(target)")
        expectEqual(parts.map { PercentEncoding.decode($0) }, ["", value, first, second, "x" + second], "a segment changes")
        for part in parts.dropFirst() {
            let name = (PercentEncoding.decode(part) ?? "").utf8.prefix { $0 != UInt8(ascii: ";") }
            expect(!name.elementsEqual(".".utf8) && !name.elementsEqual("..".utf8) && !name.isEmpty, "a segment that servers resolve")
        }
        check(target)
    }
    if let target = try? PathTemplate(verbatim: value).resolved().target { check(target) }
}

private func check(_ target: String) {
    expect(target.utf8.allSatisfy { $0 > 0x20 && $0 < 0x7F && $0 != UInt8(ascii: "#") }, "a target with an octet that must be escaped")
    expect(!target.utf8.starts(with: "//".utf8), "a target that names a host")
}

private func urlQuery(_ input: inout Input) {
    let (name, value) = (input.shortText(), input.shortText())
    let text = input.text()
    var query = URLQuery(percentEncoded: text)
    expectEqual(query.encoded, text, "a query that was not changed is not what was written")
    expectEqual(URLQuery(percentEncoded: query.encoded), query, "a query changes when it is written and read")
    let others = query.items.filter { $0.name != name }
    query.set(name, value)
    expectEqual(query[name], value, "a value that was set is not there")
    expectEqual(query.items.filter { $0.name != name }, others, "another item changes")
    if PercentEncoding.firstInvalidByte(in: text, allowing: .query) == nil {
        let encoded = query.encoded
        expect(PercentEncoding.firstInvalidByte(in: encoded, allowing: .query) == nil, "a query with an octet that must be escaped")
        expectEqual(URLQuery(percentEncoded: encoded)[name], value, "a value that was set changes when it is written and read")
    }
}

private func host(_ input: inout Input) {
    let text = input.text()
    if let host = try? Host.normalized(text[...], in: text) {
        expect(host.utf8.allSatisfy { $0 > 0x20 && $0 < 0x7F && !"/?#@\\".utf8.contains($0) }, "a host with an octet that it can't hold")
        expectEqual(try? Host.normalized(host[...], in: host), host, "a host changes when it is read again")
    }
    if let address = try? IPAddress(text) {
        expectEqual(try? IPAddress(address.description), address, "an address changes when it is written and read")
    }
}
