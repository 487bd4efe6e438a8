import Errand
import Testing

@Suite struct CredentialIdentityTests {
    @Test func theOctetsHaveLengthsBeforeThePartsAndAVersion() {
        let identity = CredentialIdentity(scheme: "basic", account: "jé", "hunter2")
        let length: [UInt8] = [0, 0, 0, 0, 0, 0, 0]
        #expect(identity.canonicalOctets == [1] + length + [5] + Array("basic".utf8) + length + [3] + [0x6A, 0xC3, 0xA9])
        #expect(CredentialIdentity(scheme: "", account: "").canonicalOctets == [1] + length + [0] + length + [0])
    }

    @Test func onlyAnIdentityWithAnAccountIsDurable() {
        #expect(CredentialIdentity(scheme: "basic", account: "").isDurable)
        for volatile in [CredentialIdentity(scheme: "basic"), CredentialIdentity(scheme: "basic", "joe", "hunter2")] {
            #expect(!volatile.isDurable && volatile.canonicalOctets == nil)
        }
    }

    /// Ten thousand names, among them every way to move octets from one part to the next.
    @Test func twoAccountsHaveDifferentOctetsAndOneHasTheSame() {
        var names: [(scheme: String, account: String)] = (0..<9_000).map { ("bearer", "user\($0)") }
        let pieces = [
            "", "a", "aa", "\0", "\u{1}", "é", "e\u{301}", "/", ":", "bearer", "\u{FEFF}", "😀", "\u{FFFF}", "A", "\n", "a\0", "\0a", "ａ",
            "ﬁ", "fi",
        ]
        for scheme in pieces { for account in pieces { names.append((scheme, account)) } }
        for length in 0..<600 { names.append((String(repeating: "x", count: length), String(repeating: "x", count: 600 - length))) }
        #expect(names.count == 10_000)
        var seen: Set<[UInt8]> = []
        var unequal = 0
        for (scheme, account) in names {
            let octets = CredentialIdentity(scheme: scheme, account: account).canonicalOctets
            // The octets do not contain the parts that are compared only in this process.
            if CredentialIdentity(scheme: scheme, account: account, "secret").canonicalOctets != octets { unequal += 1 }
            if let octets { seen.insert(octets) }
        }
        #expect(unequal == 0)
        #expect(seen.count == names.count)
    }

    @Test func identitiesAreComparedOctetByOctet() {
        let (composed, decomposed) = (CredentialIdentity(scheme: "s", account: "é"), CredentialIdentity(scheme: "s", account: "e\u{301}"))
        #expect(composed != decomposed && composed.canonicalOctets != decomposed.canonicalOctets)
        #expect(CredentialIdentity(scheme: "s", "é") != CredentialIdentity(scheme: "s", "e\u{301}"))
        #expect(CredentialIdentity(scheme: "s", "a", "bc") != CredentialIdentity(scheme: "s", "ab", "c"))
        // In this process, the parts count too: a wrong password is another identity.
        #expect(CredentialIdentity(scheme: "s", account: "joe", "right") != CredentialIdentity(scheme: "s", account: "joe", "wrong"))
        #expect(CredentialIdentity(scheme: "s", account: "joe") != CredentialIdentity(scheme: "s", "joe"))
        #expect(Set([composed, decomposed, composed]).count == 2)
    }

    @Test func theFurtherTextsOfADurableIdentityDoNotDecideAboutTheAccount() {
        let joe = CredentialIdentity(scheme: "bearer", account: "joe", "old token")
        let volatile = CredentialIdentity(scheme: "bearer", "joe", "old token")
        let rows: [(CredentialIdentity, CredentialIdentity, Bool)] = [
            (joe, CredentialIdentity(scheme: "bearer", account: "joe"), true),
            (joe, CredentialIdentity(scheme: "bearer", account: "joe", "new token"), true),
            (joe, CredentialIdentity(scheme: "basic", account: "joe", "old token"), false),
            (joe, CredentialIdentity(scheme: "bearer", account: "eve", "old token"), false),
            (joe, volatile, false), (CredentialIdentity(scheme: "s", account: ""), CredentialIdentity(scheme: "s"), false),
            (volatile, CredentialIdentity(scheme: "bearer", "joe", "old token"), true),
            (volatile, CredentialIdentity(scheme: "bearer", "joe", "new token"), false),
            (CredentialIdentity(scheme: "s", account: "é"), CredentialIdentity(scheme: "s", account: "e\u{301}"), false),
        ]
        for (number, (first, second, isSame)) in rows.enumerated() {
            #expect(first.isSameAccount(as: second) == isSame && second.isSameAccount(as: first) == isSame, "row \(number)")
            if let octets = first.canonicalOctets { #expect((octets == second.canonicalOctets) == isSame, "row \(number)") }
        }
    }

    @Test func descriptionsShowNoAccount() {
        for identity in [
            CredentialIdentity(scheme: "basic", account: "joe", "hunter2"), CredentialIdentity(scheme: "basic", "joe", "hunter2"),
        ] {
            var dumped = ""
            dump(identity, to: &dumped)
            for text in ["\(identity)", String(reflecting: identity), dumped, "\(Mirror(reflecting: identity).children.map(\.value))"] {
                #expect(!text.contains("joe") && !text.contains("hunter2") && text.contains("basic identity"), "\(text)")
            }
        }
    }
}
