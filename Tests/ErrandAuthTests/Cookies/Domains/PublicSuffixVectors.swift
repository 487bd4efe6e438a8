// Any copyright is dedicated to the Public Domain.
// https://creativecommons.org/publicdomain/zero/1.0/
//
// The rows are those of test_psl.txt of publicsuffix.org, without the row whose input is null.

import Testing

/// The test vectors of publicsuffix.org: a host, and its registrable domain.
struct PublicSuffixVector: Sendable, CustomTestStringConvertible {
    let host: String
    /// The registrable domain; `nil` if the host is a public suffix or invalid.
    let domain: String?

    var testDescription: String { host }

    init(_ host: String, _ domain: String?) { (self.host, self.domain) = (host, domain) }

    static let all: [PublicSuffixVector] = [
        .init("COM", nil),
        .init("example.COM", "example.com"),
        .init("WwW.example.COM", "example.com"),
        .init(".com", nil),
        .init(".example", nil),
        .init(".example.com", nil),
        .init(".example.example", nil),
        .init("example", nil),
        .init("example.example", "example.example"),
        .init("b.example.example", "example.example"),
        .init("a.b.example.example", "example.example"),
        .init("biz", nil),
        .init("domain.biz", "domain.biz"),
        .init("b.domain.biz", "domain.biz"),
        .init("a.b.domain.biz", "domain.biz"),
        .init("com", nil),
        .init("example.com", "example.com"),
        .init("b.example.com", "example.com"),
        .init("a.b.example.com", "example.com"),
        .init("uk.com", nil),
        .init("example.uk.com", "example.uk.com"),
        .init("b.example.uk.com", "example.uk.com"),
        .init("a.b.example.uk.com", "example.uk.com"),
        .init("test.ac", "test.ac"),
        .init("mm", nil),
        .init("c.mm", nil),
        .init("b.c.mm", "b.c.mm"),
        .init("a.b.c.mm", "b.c.mm"),
        .init("jp", nil),
        .init("test.jp", "test.jp"),
        .init("www.test.jp", "test.jp"),
        .init("ac.jp", nil),
        .init("test.ac.jp", "test.ac.jp"),
        .init("www.test.ac.jp", "test.ac.jp"),
        .init("kyoto.jp", nil),
        .init("test.kyoto.jp", "test.kyoto.jp"),
        .init("ide.kyoto.jp", nil),
        .init("b.ide.kyoto.jp", "b.ide.kyoto.jp"),
        .init("a.b.ide.kyoto.jp", "b.ide.kyoto.jp"),
        .init("c.kobe.jp", nil),
        .init("b.c.kobe.jp", "b.c.kobe.jp"),
        .init("a.b.c.kobe.jp", "b.c.kobe.jp"),
        .init("city.kobe.jp", "city.kobe.jp"),
        .init("www.city.kobe.jp", "city.kobe.jp"),
        .init("ck", nil),
        .init("test.ck", nil),
        .init("b.test.ck", "b.test.ck"),
        .init("a.b.test.ck", "b.test.ck"),
        .init("www.ck", "www.ck"),
        .init("www.www.ck", "www.ck"),
        .init("us", nil),
        .init("test.us", "test.us"),
        .init("www.test.us", "test.us"),
        .init("ak.us", nil),
        .init("test.ak.us", "test.ak.us"),
        .init("www.test.ak.us", "test.ak.us"),
        .init("k12.ak.us", nil),
        .init("test.k12.ak.us", "test.k12.ak.us"),
        .init("www.test.k12.ak.us", "test.k12.ak.us"),
        .init("食狮.com.cn", "食狮.com.cn"),
        .init("食狮.公司.cn", "食狮.公司.cn"),
        .init("www.食狮.公司.cn", "食狮.公司.cn"),
        .init("shishi.公司.cn", "shishi.公司.cn"),
        .init("公司.cn", nil),
        .init("食狮.中国", "食狮.中国"),
        .init("www.食狮.中国", "食狮.中国"),
        .init("shishi.中国", "shishi.中国"),
        .init("中国", nil),
        .init("xn--85x722f.com.cn", "xn--85x722f.com.cn"),
        .init("xn--85x722f.xn--55qx5d.cn", "xn--85x722f.xn--55qx5d.cn"),
        .init("www.xn--85x722f.xn--55qx5d.cn", "xn--85x722f.xn--55qx5d.cn"),
        .init("shishi.xn--55qx5d.cn", "shishi.xn--55qx5d.cn"),
        .init("xn--55qx5d.cn", nil),
        .init("xn--85x722f.xn--fiqs8s", "xn--85x722f.xn--fiqs8s"),
        .init("www.xn--85x722f.xn--fiqs8s", "xn--85x722f.xn--fiqs8s"),
        .init("shishi.xn--fiqs8s", "shishi.xn--fiqs8s"),
        .init("xn--fiqs8s", nil),
    ]
}
