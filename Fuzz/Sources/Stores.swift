import ErrandCore
import ErrandFormats
import Foundation

@testable import ErrandAuth
@testable import ErrandURLSession

let storeTargets = [
    Target("hsts-file", hstsFile), Target("cookie-json", cookieJSON), Target("public-suffix", publicSuffix),
    Target("set-cookie-fields", setCookieFields), Target("clear-site-data", clearSiteData), Target("pem", pem), Target("der", der),
]

private func hstsFile(_ input: inout Input) {
    let now = HTTPDate(secondsSinceEpoch: Int64(input.byte()) << 24)
    let text = input.text()
    guard let hosts = HSTSFile.hosts(in: text) else { return }
    for host in hosts {
        expect(!host.name.isEmpty && host.name.utf8.allSatisfy { $0 > 0x20 && $0 < 0x7F }, "an invalid name")
        expect(!host.name.utf8.contains { (0x41...0x5A).contains($0) }, "a name in upper case")
    }
    // A time of a note before 1970 is not written.
    func written(_ hosts: [HSTSHost]) -> [String] {
        hosts.map { "\($0.name) \($0.includesSubdomains) \($0.expires?.secondsSinceEpoch ?? .max) \(max($0.noted.secondsSinceEpoch, 0))" }
    }
    guard let again = HSTSFile.hosts(in: HSTSFile.text(of: hosts)) else { fail("a written file is not read") }
    expectEqual(written(again), written(hosts), "hosts change when they are written and read")
    let merged = HSTSFile.merged(hosts, with: again, at: now)
    expect(merged.count <= HSTSList.limit, "more hosts than the limit")
    expect(zip(merged, merged.dropFirst()).allSatisfy { $0.name < $1.name }, "a name is there twice")
}

private func cookieJSON(_ input: inout Input) {
    let data = Data(input.bytes())
    let cookies: [Cookie]
    do throws(CookieFileError) {
        cookies = try CookieFile.json(parsing: data)
    } catch {
        expect("\(error)".utf8.count < 1_000, "an error has the text of the file")
        return
    }
    guard let again = try? CookieFile.json(parsing: CookieFile.json(of: cookies)) else { fail("a written file is not read") }
    expectEqual(again, cookies, "cookies change when they are written and read")
}

private func publicSuffix(_ input: inout Input) {
    let includesPrivate = input.byte() & 1 == 0
    let host = input.text()
    let suffix = PublicSuffixes.suffix(of: host, includesPrivate: includesPrivate)
    let domain = PublicSuffixes.registrableDomain(of: host, includesPrivate: includesPrivate)
    expect(PublicSuffixes.contains(host, includesPrivate: includesPrivate) == (suffix != nil && domain == nil), "a suffix with a domain")
    guard let suffix, let domain else { return }
    expect(domain.hasOctetSuffix("." + suffix), "a domain outside of its suffix")
    let label = domain.utf8.dropLast(suffix.utf8.count + 1)
    expect(!label.isEmpty && !label.contains(UInt8(ascii: ".")), "a domain of several labels")
    expectEqual(PublicSuffixes.suffix(of: domain, includesPrivate: includesPrivate), suffix, "the domain has another suffix")
    expectEqual(PublicSuffixes.registrableDomain(of: domain, includesPrivate: includesPrivate), domain, "the domain has another domain")
}

private func setCookieFields(_ input: inout Input) {
    let joined = input.text()
    let values = SetCookieFields.separated(joined)
    expectEqual(values.joined(separator: ", "), joined, "a separated value is not joined again")
    for value in values.dropFirst() {
        let name = value.utf8.prefix { $0.isTokenOctet }
        expect(!name.isEmpty && value.utf8.dropFirst(name.count).first == UInt8(ascii: "="), "a value without a name")
    }
    for value in values { _ = SetCookie(value) }
}

private func clearSiteData(_ input: inout Input) {
    let (first, second) = (input.shortText(), input.text())
    for includes in [{ ClearSiteData.includesCookies($0) }, { ClearSiteData.includesCache($0) }] as [([String]) -> Bool] {
        expect(includes([first, second]) == (includes([first]) || includes([second])), "a second field changes the first one")
        expect(!includes([]), "no field removes nothing")
    }
    if ClearSiteData.includesCookies([second]) {
        expect(second.containsOctets("\"cookies\"") || second.containsOctets("\"*\""), "a value removes cookies without a reason")
        expect(second.utf8.count <= FieldLimits.valueBytes, "a value over the limit")
    }
}

private func pem(_ input: inout Input) {
    guard let certificates = PEMCertificates.read(Data(input.bytes())) else { return }
    expect(!certificates.isEmpty && certificates.allSatisfy { !$0.isEmpty }, "an empty certificate")
    let text = certificates.map { "-----BEGIN CERTIFICATE-----\n\($0.base64EncodedString())\n-----END CERTIFICATE-----\n" }.joined()
    expectEqual(PEMCertificates.read(Data(text.utf8)), certificates, "certificates change when they are written and read")
}

private func der(_ input: inout Input) {
    let bytes = input.bytes()
    var count = 0
    // The levels of a value are read one by one, as the rules of certificates do.
    var readers = [DERReader(bytes[...])]
    while var reader = readers.popLast(), count < 10_000 {
        let before = reader.rest.count
        guard let value = reader.read() else { continue }
        count += 1
        expect(reader.rest.count < before && value.content.rest.count < before, "a value without octets")
        readers.append(reader)
        if readers.count < 50 { readers.append(value.content) }
    }
    guard let parts = CertificateParts(bytes[...]) else { return }
    expect(bytes.contains(bytes: Array(parts.publicKeyInfo)) && !parts.publicKeyInfo.isEmpty, "a key outside of the certificate")
    expect(parts.issuer.count + parts.subject.count + parts.publicKeyInfo.count <= bytes.count, "parts larger than the certificate")
}
