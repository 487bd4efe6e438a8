import ErrandFormats
import Testing

@Suite(.timeLimit(.minutes(5))) struct AlternativeServiceTests {
    private static func text(_ value: String) -> String { AlternativeService.parse(value).map(\.description).joined(separator: ", ") }

    @Test(arguments: [
        (#"h3=":443""#, #"h3=":443""#), (#"h2="b.example:8000"; ma=60; persist=1"#, #"h2="b.example:8000"; ma=60; persist=1"#),
        (#"h3=":443"; ma=86400,h3-29=":443";ma=1"#, #"h3=":443", h3-29=":443"; ma=1"#),
        (#" , h3=":443" ;  MA="5" ,, h2="[2001:db8::1]:8443","#, #"h3=":443"; ma=5, h2="[2001:db8::1]:8443""#),
        // RFC 7838, section 3: the identifier of a protocol is percent-encoded.
        (#"w%3Dx%3Ay#z=":443""#, "w%3Dx%3Ay#z=\":443\""), (#"x%25y=":443""#, #"x%25y=":443""#),
        // Other parameters, and other values of persist, are ignored.
        (#"h3=":443"; v="46,43"; x=y; persist=0"#, #"h3=":443""#),
        (#"h3=":4\43""#, #"h3=":443""#),
        (#"h3=":443"; ma=99999999999999999999"#, #"h3=":443"; ma=2147483648"#), (#"h3=":443"; ma=0"#, #"h3=":443"; ma=0"#),
        ("clear", ""), (" clear ", ""), ("", ""),
    ])
    func aValueIsReadAsItsServices(value: String, expected: String) {
        #expect(Self.text(value) == expected)
    }

    @Test(arguments: [
        "clear", "Clear", "h3", "h3=", "h3=:443", #"h3="443""#, #"h3=":0""#, #"h3=":65536""#, #"h3=":-1""#, #"h3=":""#, #"=":443""#,
        #"h3 =":443""#, #"h3= ":443""#, #"h3=":443" x"#, #"h3=":443";"#, #"h3=":443"; ma"#, #"h3=":443"; ma=-1"#, #"h3=":443"; ma=x"#,
        #"h3=":443"; ma= 1"#, #"h3="a b:443""#, #"h3="a/b:443""#, #"h3="[::1:443""#, #"h3="[]:443""#, #"h3="user@a:443""#,
        #"%zz=":443""#, #"%FA%FA=":443""#, #"h3=":443"; a="x,y" z"#,
    ])
    func anInvalidServiceIsLeftOut(member: String) {
        #expect(Self.text(#"h2=":1", \#(member), h2=":2""#) == #"h2=":1", h2=":2""#)
    }

    @Test func anUnterminatedStringDropsTheRest() {
        #expect(Self.text(#"h2=":1", h3=":443, h2=":2"#) == #"h2=":1""#)
        #expect(Self.text(#"h2=":1", h3=":443"; a="x, h2=":2""#).hasPrefix(#"h2=":1""#))
    }

    @Test func theCountAndTheLengthAreBounded() {
        let many = (1...40).map { "h3=\":\($0)\"" }.joined(separator: ",")
        #expect(AlternativeService.parse(many).map(\.port) == Array(1...32))
        #expect(AlternativeService.parse(#"h3=":443""# + String(repeating: " ", count: 8192)).isEmpty)
    }

    @Test func aServiceHasDefaults() {
        let service = AlternativeService("h3", port: 443)
        #expect(service == AlternativeService.parse(#"h3=":443""#).first)
        #expect(service.host == nil && service.maxAge == .seconds(86_400) && !service.isPersistent)
    }
}
