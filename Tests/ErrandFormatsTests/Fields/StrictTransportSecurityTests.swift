import ErrandFormats
import Testing

@Suite(.timeLimit(.minutes(5))) struct StrictTransportSecurityTests {
    @Test(arguments: [
        ("max-age=31536000", "max-age=31536000"), ("max-age=0", "max-age=0"), ("max-age=00060", "max-age=60"),
        ("max-age=1; includeSubDomains", "max-age=1; includeSubDomains"), ("includeSubDomains;max-age=1", "max-age=1; includeSubDomains"),
        ("MAX-AGE=1 ; INCLUDESUBDOMAINS", "max-age=1; includeSubDomains"), (#"max-age="31536000""#, "max-age=31536000"),
        (#"max-age="3\1""#, "max-age=31"), ("  max-age = 1\t;  includeSubDomains  ", "max-age=1; includeSubDomains"),
        // RFC 6797, section 6.1: a directive may be empty.
        (";;max-age=1;;", "max-age=1"), (" ; max-age=1 ; ", "max-age=1"),
        // Unknown directives are ignored, also if they occur twice.
        ("max-age=1; preload", "max-age=1"), (#"a=b; max-age=1; a="c;max-age=2,d"; a; max-ages=3"#, "max-age=1"),
        ("max-age=2147483648", "max-age=2147483648"), ("max-age=99999999999999999999999", "max-age=2147483648"),
    ])
    func aValueIsReadAsItsDirectives(value: String, expected: String) {
        #expect(StrictTransportSecurity(value)?.description == expected)
    }

    @Test(arguments: [
        "", " ", ";", "includeSubDomains", "preload", "max-age", "max-age=", "max-age=;", #"max-age="""#, "max-age=x", "max-age=-1",
        "max-age=+1", "max-age=1.5", "max-age=1s", "max-age=0x1", "max-age='1'", "max-age=\u{661}", #"max-age="1"#, #"max-age="1"2"#,
        "max-age=1 2", "max-age=1 includeSubDomains", "max-age=1, includeSubDomains", "max-age=1, max-age=1", "max-age=1/2",
        "max-age==1", "max-age:1", "=1", "max-age=1; =2", "max-age=1; a=", "max-age=1; a=b c", "max-age=1; a b", "max-age=1; \"a\"",
        "max-age=1; max-age=1", "max-age=1; MAX-AGE=2", "max-age=1; includeSubDomains; includesubdomains",
        "max-age=1; includeSubDomains=1", #"max-age=1; includeSubDomains="""#, "max-age=1; ä", "max-age=1\u{301}",
    ])
    func anInvalidValueIsRefused(value: String) {
        #expect(StrictTransportSecurity(value) == nil)
    }

    @Test func theLengthIsBounded() {
        let padding = String(repeating: ";", count: 8192 - 9)
        #expect(StrictTransportSecurity(padding + "max-age=1") != nil)
        #expect(StrictTransportSecurity(padding + ";max-age=1") == nil)
    }

    @Test func anAgeIsBoundedAndWhole() {
        #expect(StrictTransportSecurity(maxAge: .seconds(-5)).maxAge == .zero)
        #expect(StrictTransportSecurity(maxAge: .seconds(Int64.max)).maxAge == .seconds(1 << 31))
        #expect(StrictTransportSecurity(maxAge: .milliseconds(2_900)).maxAge == .seconds(2))
        #expect(!StrictTransportSecurity(maxAge: .seconds(1)).includesSubdomains)
    }
}
