import Errand
import ErrandCore
import Synchronization
import Testing

/// Certificate pins: their patterns, their text, and the comparison.
@Suite(.timeLimit(.minutes(5))) struct CertificatePinTests {
    static let first = "sha256/AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA="
    static let second = "sha256/AQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQE="
    static let third = "sha256/AgICAgICAgICAgICAgICAgICAgICAgICAgICAgICAgI="

    @Test(arguments: [
        ("a.example", "a.example", true), ("A.Example.", "a.example", true), ("a.example", "a.example.", true),
        ("a.example", "b.a.example", false), ("a.example", "xa.example", false), ("localhost", "localhost", true),
        ("*.a.example", "b.a.example", true), ("*.a.example", "a.example", false), ("*.a.example", "c.b.a.example", false),
        ("*.a.example", "xa.example", false), ("*.a.example", "b.a.example.", true), ("*.a.example", ".a.example", false),
        ("**.a.example", "a.example", true), ("**.a.example", "b.a.example", true), ("**.a.example", "c.b.a.example", true),
        ("**.a.example", "xa.example", false), ("**.a.example", "a.example.b", false),
        ("bücher.example", "xn--bcher-kva.example", true), ("*.BÜCHER.example", "x.xn--bcher-kva.example", true),
        ("127.0.0.1", "127.0.0.1", true), ("127.0.0.1", "127.0.0.2", false), ("*.example", "127.0.0.1", false),
        ("::1", "[::1]", true), ("[::1]", "[::1]", true), ("0:0:0:0:0:0:0:1", "[::1]", true), ("::1", "[::2]", false),
        ("2001:DB8::", "[2001:db8:0::0:0]", true), ("::ffff:192.0.2.7", "[::ffff:c000:207]", true),
    ])
    func aPatternMatchesHosts(pattern: String, host: String, isMatch: Bool) throws {
        let pins = try CertificatePins([pattern: [Self.first, Self.second]])
        #expect(pins.pins(for: host) == (isMatch ? [Self.first, Self.second] : []))
    }

    @Test(arguments: [
        ("", TLSSettingsError.Code.emptyPattern), ("*", .invalidPattern), ("*.", .invalidPattern), ("**.", .invalidPattern),
        ("*a.example", .invalidPattern), ("a.*.example", .invalidPattern), ("***.a.example", .invalidPattern),
        ("*.*.a.example", .invalidPattern), ("a..example", .invalidPattern), ("a.example:443", .invalidPattern),
        ("a.example/x", .invalidPattern), ("https://a.example", .invalidPattern), ("a example", .invalidPattern),
        ("[::1", .invalidPattern), (".", .invalidPattern), ("*.127.0.0.1", .wildcardForAddress), ("*.0.0.1", .wildcardForAddress),
        ("**.::1", .wildcardForAddress), ("*.[::1]", .wildcardForAddress),
    ])
    func anInvalidPatternIsRefused(pattern: String, code: TLSSettingsError.Code) {
        let error = #expect(throws: TLSSettingsError.self) { try CertificatePins([pattern: [Self.first, Self.second]]) }
        #expect(error?.code == code)
        #expect(error?.subject == pattern)
    }

    @Test(arguments: [
        ("", TLSSettingsError.Code.unknownHash), ("AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA=", .unknownHash),
        ("sha1/AAAAAAAAAAAAAAAAAAAAAAAAAAA=", .unknownHash), ("SHA256/AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA=", .unknownHash),
        ("sha256/AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA", .invalidBase64),
        ("sha256/AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAB=", .invalidBase64),
        ("sha256/AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA= ", .invalidBase64),
        ("sha256/________________________________________AAA=", .invalidBase64), ("sha256/", .wrongLength), ("sha256/AAAA", .wrongLength),
        ("sha256/AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA", .wrongLength),
    ])
    func anInvalidPinIsRefused(pin: String, code: TLSSettingsError.Code) {
        let error = #expect(throws: TLSSettingsError.self) { try CertificatePins(["a.example": [Self.first, Self.second, pin]]) }
        #expect(error?.code == code)
        #expect(error?.subject == pin)
        #expect(error?.description.contains("RFC 7469, section 2.4") == true)
    }

    @Test(arguments: [
        ("https://a.example", #"a pattern has no scheme; write "a.example""#),
        ("a.example:443", #"a pattern has no port; write "a.example""#),
        ("*.a.example:443", #"a pattern has no port; write "*.a.example""#),
        ("https://a.example:443/x", #"a pattern has no scheme, port or path; write "a.example""#),
        ("https://a.example/", #"a pattern has no scheme or path; write "a.example""#),
        ("[::1]:443", #"a pattern has no port; write "[::1]""#), ("https://[::1]", #"a pattern has no scheme; write "[::1]""#),
    ])
    func theErrorOfAURLAsAPatternNamesThePattern(pattern: String, message: String) {
        let error = #expect(throws: TLSSettingsError.self) { try CertificatePins([pattern: [Self.first, Self.second]]) }
        #expect(error?.code == .invalidPattern)
        #expect(error?.message == message)
    }

    @Test func thePinsOfCurlAreNamedInTheFormToWrite() {
        let hashes = [Self.first, Self.second].map { $0.dropFirst("sha256/".count) }
        func message(_ pin: String) -> String? {
            #expect(throws: TLSSettingsError.self) { try CertificatePins(["a.example": [pin]]) }?.message
        }
        let form = "the form with two slashes is for curl; write"
        #expect(message("sha256//\(hashes[0])") == "\(form) \"\(Self.first)\" (RFC 7469, section 2.4)")
        let both = message("sha256//\(hashes[0]);sha256//\(hashes[1])")
        #expect(both == "\(form) \"\(Self.first)\", \"\(Self.second)\" (RFC 7469, section 2.4)")
    }

    @Test func aHashMayBeginWithASlash() throws {
        let slash = "sha256//" + Self.first.dropFirst("sha256/".count + 1)
        let pins = try CertificatePins(["a.example": [slash, Self.second]])
        #expect(pins.pins(for: "a.example").contains(slash))
    }

    @Test(arguments: [[], [first], [first, first]])
    func aBackupPinIsRequired(pins: [String]) {
        let error = #expect(throws: TLSSettingsError.self) { try CertificatePins(["*.A.example": pins]) }
        #expect(error?.code == .missingBackupPin)
        let count = Set(pins).count
        #expect(
            error?.description
                == "invalid TLS setting '*.a.example': at least two different pins are needed, one of them for a key that is "
                + "not in use; the pattern has \(count)")
    }

    @Test func aPatternIsRequired() {
        let error = #expect(throws: TLSSettingsError.self) { try CertificatePins([:]) }
        #expect(error?.code == .emptyPattern)
    }

    @Test func spellingsOfAPatternAreJoined() throws {
        let pins = try CertificatePins(["a.example": [Self.first], "A.EXAMPLE.": [Self.second]])
        #expect(pins.pins(for: "a.example") == [Self.first, Self.second])
        #expect(pins == (try CertificatePins(["a.example": [Self.second, Self.first]])))
    }

    @Test func thePinsOfAllMatchingPatternsCount() throws {
        let pins = try CertificatePins([
            "**.a.example": [Self.first, Self.second], "b.a.example": [Self.second, Self.third],
        ])
        #expect(pins.pins(for: "b.a.example") == [Self.first, Self.second, Self.third])
        #expect(pins.pins(for: "c.a.example") == [Self.first, Self.second])
        #expect("\(pins)" == "pins of **.a.example, b.a.example")
    }

    @Test func onePinInTheChainPasses() throws {
        let pins = try CertificatePins(["a.example": [Self.first, Self.second]])
        try pins.check([Self.third, Self.second], of: "a.example")
        try pins.check([Self.third], of: "b.example")
        for chain in [[Self.third], []] {
            let mismatch = #expect(throws: CertificatePinError.self) { try pins.check(chain, of: "a.example") }
            #expect(mismatch?.host == "a.example")
            #expect(mismatch?.chain == chain)
            #expect(mismatch?.expected == [Self.first, Self.second])
        }
    }

    @Test func aMismatchListsBothSides() {
        let two = #expect(throws: CertificatePinError.self) {
            try CertificatePins(["a.example": [Self.first, Self.second]]).check([Self.third, Self.third], of: "a.example")
        }
        #expect(
            two?.description
                == "no certificate of 'a.example' has an expected pin; its chain has \(Self.third) (the server's own), \(Self.third); "
                + "expected is one of \(Self.first), \(Self.second)")
    }

    @Test func reportOnlyReportsAndPasses() throws {
        let reports = Mutex<[CertificatePinError]>([])
        let pins = try CertificatePins(["a.example": [Self.first, Self.second]])
        let reporting = pins.reporting { mismatch in reports.withLock { $0.append(mismatch) } }
        #expect(!pins.isReportOnly && reporting.isReportOnly)
        #expect(pins != reporting)
        try reporting.check([Self.first], of: "a.example")
        let none = reports.withLock { $0 }
        #expect(none.isEmpty)
        try reporting.check([Self.third], of: "a.example")
        let hosts = reports.withLock { $0.map(\.host) }
        #expect(hosts == ["a.example"])
        #expect("\(reporting)" == "pins of a.example (reported only)")
    }
}
