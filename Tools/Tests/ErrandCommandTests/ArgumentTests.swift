import Testing

@testable import ErrandCommand

struct ArgumentTests {
    @Test(arguments: [
        ("a.example/?next=https://b.example", "http://a.example/?next=https://b.example"),
        ("a.example:8080/x://y", "http://a.example:8080/x://y"), ("a.example", "http://a.example"), ("://a.example", "http://://a.example"),
        ("[::1]:80/", "http://[::1]:80/"), ("https://a.example/?next=http://b.example", "https://a.example/?next=http://b.example"),
        ("HTTP://a.example", "HTTP://a.example"), ("ftp://a.example", "ftp://a.example"),
    ]) func aURLWithoutASchemeOfItsOwnGetsOne(url: String, expected: String) {
        #expect(RequestArguments.absolute(url) == expected)
    }
}
