#if SWIFT_NIO
import Testing

@testable import ErrandNIO

@Suite(.timeLimit(.minutes(5))) struct CertificateNamesTests {
    @Test(
        arguments: [
            ("a.example", "a.example"), ("A.Example", "a.example."), ("a.example.", "a.example"), ("*.example", "a.example"),
            ("*.a.example", "b.a.example"), ("*.a.example", "b_c.a.example."), ("*.Example", "xn--bcher-kva.example"),
            ("*.example", "XN--a.example"), ("a_b.example", "A_B.example"),
        ])
    func aNameMatchesAHost(_ name: String, _ host: String) { #expect(CertificateNames.matches(name, host)) }

    @Test(
        arguments: [
            ("a.example", "b.example"), ("*.example", "example"), ("*.example", "b.a.example"), ("*.example", ".example"),
            ("*.*.example", "b.a.example"), ("*.*.example", "b.*.example"), ("b*.example", "b1.example"), ("*", "a"), ("", ""),
            ("", "a.example"), ("*.", "a."),
            ("a.example", "xa.example"), ("*.a.example", "a.example"), ("f*o.example", "foo.example"),
            ("xn--*.example", "xn--a.example"), ("a.*.example", "a.b.example"), ("*", "localhost"), ("*..", "a."), ("*.", "a"),
            ("a.example\0.b.example", "a.example"), ("*.exam\u{301}ple", "a.example"), (".example", "a.example"), ("*.example", "*."),
        ])
    func aNameDoesNotMatchOtherHosts(_ name: String, _ host: String) { #expect(!CertificateNames.matches(name, host)) }
}
#endif
