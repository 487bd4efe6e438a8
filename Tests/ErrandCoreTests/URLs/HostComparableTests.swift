import Testing

@testable import ErrandCore

@Suite(.timeLimit(.minutes(5))) struct HostComparableTests {
    @Test(
        arguments: [
            ("a.example", "a.example"), ("a.example.", "a.example"), ("192.0.2.1", "192.0.2.1"), ("[::1]", "0:0:0:0:0:0:0:1"),
            ("[::]", "0:0:0:0:0:0:0:0"), ("[2001:db8::1:0]", "2001:db8:0:0:0:0:1:0"), ("[2001:0db8:0:0:0:0:01:0]", "2001:db8:0:0:0:0:1:0"),
            ("[::ffff:192.0.2.1]", "0:0:0:0:0:ffff:c000:201"), ("[1:2:3:4:5:6:7:8]", "1:2:3:4:5:6:7:8"), ("[1::]", "1:0:0:0:0:0:0:0"),
            ("[x]", "[x]"),
        ] as [(String, String)])
    func anAddressIsComparedByItsGroups(_ host: String, _ expected: String) { #expect(Host.comparable(host) == expected) }
}
