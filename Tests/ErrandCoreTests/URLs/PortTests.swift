import Testing

@testable import ErrandCore

@Suite(.timeLimit(.minutes(5))) struct PortTests {
    /// Every text with a port is read by the same rule.
    @Test(
        arguments: [
            ("1", 1), ("8443", 8443), ("08443", 8443), ("65535", 65_535), ("0", nil), ("65536", nil), ("008443", nil), ("00008443", nil),
            ("+8443", nil), ("-1", nil), ("84a", nil),
        ] as [(String, Int?)])
    func everyTextHasTheSamePorts(_ text: String, _ port: Int?) throws {
        let url = "https://a.example:\(text)"
        #expect((try? Origin(url))?.port == port)
        #expect((try? HTTPURL("https://a.example:\(text)/x"))?.origin.port == port)
        #expect(AlternativeService.parse("h3=\":\(text)\"").first?.port == port)
        let shown = port.map { "\($0)" }
        #expect((try? HostOverrides(["a.example:\(text):127.0.0.1"]))?.description == shown.map { "a.example:\($0):127.0.0.1" })
        #expect((try? ProxySettings("http://p.example:\(text)"))?.description == shown.map { "p.example:\($0)" })
        let exceptions = ProxyExceptions("a.example:\(text)")
        #expect(exceptions.ignored.isEmpty == (port != nil))
        if let port {
            let origin = Origin("https://a.example:\(port)")
            #expect(exceptions.contain(origin))
        }
    }
}
