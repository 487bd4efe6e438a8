@testable import ErrandFormats

let cookieFileTargets = [Target("netscape-cookies", netscapeCookies)]

private func netscapeCookies(_ input: inout Input) {
    let octets = input.bytes()
    let file = read(octets)
    expect(file.entries.count <= NetscapeCookieFile.entryLimit, "more cookies than the limit")
    expect(file.badLines.count == min(file.badLineCount, NetscapeCookieFile.badLineLimit), "bad lines are not reported")
    expect(zip(file.badLines, file.badLines.dropFirst()).allSatisfy { $0.number < $1.number }, "lines in another order")
    for entry in file.entries {
        expect(entry.path.utf8.first == UInt8(ascii: "/") && !entry.domain.isEmpty, "an invalid path or domain")
        expect(!entry.name.isEmpty || !entry.value.isEmpty, "an empty cookie")
        for text in [entry.domain, entry.path, entry.name, entry.value] {
            expect(!text.utf8.contains { $0 < 0x20 || $0 == 0x7F }, "a control character in a field")
        }
    }
    // A cookie without a name is not written.
    let named = file.entries.filter { !$0.name.isEmpty }
    let again = read(Array(NetscapeCookieFile.text(of: file.entries).utf8))
    expectEqual(again.entries, named, "cookies change when they are written and read")
    expect(again.badLineCount == 0, "a written line is bad")
}

private func read(_ octets: [UInt8]) -> NetscapeCookieFile { octets.withUnsafeBufferPointer { NetscapeCookieFile(parsing: $0) } }
