import ErrandCore
import TestSupport
import Testing

@Suite(.timeLimit(.minutes(5))) struct ProxyEnvironmentTests {
    private static func shown(_ proxy: ProxySettings?) -> String {
        guard let proxy else { return "none" }
        return "\(proxy.kind) \(proxy)" + (proxy.credentials.map { " \($0.user):\($0.password)" } ?? "")
    }

    // MARK: - URLs

    @Test(arguments: [
        ("proxy.example:3128", "HTTP proxy.example:3128"), ("http://Proxy.Example", "HTTP proxy.example:1080"),
        ("http://proxy.example:80/", "HTTP proxy.example:80"), ("HTTPS://proxy.example", "HTTPS proxy.example:443"),
        ("https://proxy.example:443", "HTTPS proxy.example:443"), ("http://proxy.example:443", "HTTP proxy.example:443"),
        ("socks5h://127.0.0.1", "SOCKS 5 127.0.0.1:1080"), ("socks5://[2001:db8::1]:9", "SOCKS 5 [2001:db8::1]:9"),
        ("http://joe:pw@proxy.example:1", "HTTP proxy.example:1 joe:pw"), ("http://joe@proxy.example:1", "HTTP proxy.example:1 joe:"),
        ("joe:p%40w%3A@proxy.example:1", "HTTP proxy.example:1 joe:p@w:"),
        ("http://:pw@proxy.example:1", "HTTP proxy.example:1 :pw"), ("http://proxy.example:", "HTTP proxy.example:1080"),
        ("http://joe:a%20b@proxy.example:1", "HTTP proxy.example:1 joe:a b"),
        ("http://joe:a:b@proxy.example:1", "HTTP proxy.example:1 joe:a:b"),
    ])
    func aURLIsRead(_ url: String, _ expected: String) throws { #expect(Self.shown(try ProxySettings(url)) == expected) }

    private static let hasSpace = "it has a space or a control character; in a user or a password, such characters must be percent-encoded"
    private static let hasTwo = "it has more than one '@': in a user and a password, '@' must be percent-encoded as %40"

    @Test(arguments: [
        ("socks4://joe:hunter2@proxy.example", "SOCKS 4 is not supported: use socks5 if the proxy supports it"),
        ("SOCKS4A://proxy.example", "SOCKS 4 is not supported: use socks5 if the proxy supports it"),
        ("socks://proxy.example", "SOCKS 4 is not supported: use socks5 if the proxy supports it"),
        ("ftp://joe:hunter2@proxy.example", "its scheme must be http, https, socks5 or socks5h"),
        ("http://", "it has no host"), ("http://joe:hunter2@:3128", "it has no host"),
        ("http://joe:hunter2", "its port must be a number from 1 to 65535"),
        ("http://proxy.example:0", "its port must be a number from 1 to 65535"),
        ("http://proxy.example:65536", "its port must be a number from 1 to 65535"),
        ("http://[::1", "its host is neither a name nor an address"), ("http://a_b%.example", "its host is neither a name nor an address"),
        ("http://[::1]hunter2:80", "its host is neither a name nor an address"),
        ("http://::1:3128", "its host has a colon: an IPv6 address must be in brackets"),
        ("http://proxy example", Self.hasSpace), ("http://joe:hunter 2@proxy.example", Self.hasSpace),
        ("http://proxy.example:3128\n", Self.hasSpace), ("http://@proxy.example", "it has an '@' without a user before it"),
        ("http://joe:hunter2@@proxy.example", Self.hasTwo), ("http://joe:hunter2@b@proxy.example:1", Self.hasTwo),
        ("http://proxy.example/path", "it has more than a scheme, a host and a port"),
        ("http://joe:hunter2/x@proxy.example", "its user and password must be percent-encoded"),
        ("http://joe:hunter2%zz@proxy.example", "its user and password must be percent-encoded"),
        ("http://j%3Ao:hunter2@proxy.example", "the user for Basic authentication must not have a colon"),
        ("socks5://joe@proxy.example", "the user and the password for SOCKS 5 must have 1 to 255 bytes each"),
        (String(repeating: "a", count: 9000), "it is longer than 8 KiB"),
    ])
    func anInvalidURLIsRefusedWithoutShowingIt(_ url: String, _ reason: String) {
        let error = #expect(throws: ProxySettingsError.self) { try ProxySettings(url) }
        #expect(error?.description == "invalid proxy: \(reason)" && error?.description.contains("hunter2") == false)
        let policy = ProxyPolicy.environment(["https_proxy": url])
        let inEnvironment = #expect(throws: ProxySettingsError.self) { try policy.proxy(for: "https://a.example") }
        #expect(inEnvironment?.description == "invalid proxy in the variable https_proxy: \(reason)")
        #expect(inEnvironment?.variable == "https_proxy" && !"\(policy)".contains("hunter2"))
    }

    /// If a variable is wrong, only the requests that would use the variable fail.
    @Test func anInvalidUnusedVariableIsIgnored() throws {
        let ofTLS = ProxyPolicy.environment(["https_proxy": "foo://x"])
        #expect(try ofTLS.proxy(for: "http://a.example") == nil)
        #expect(throws: ProxySettingsError.self) { try ofTLS.proxy(for: "https://a.example") }
        #expect("\(ofTLS)".contains("https through an invalid proxy in the variable https_proxy: its scheme must be"))
        let all = ProxyPolicy.environment(["ALL_PROXY": "socks://127.0.0.1:1", "http_proxy": "a:1", "no_proxy": "127.0.0.1"])
        #expect(try all.proxy(for: "http://a.example")?.description == "a:1")
        #expect(try all.proxy(for: "https://127.0.0.1") == nil)
        let error = #expect(throws: ProxySettingsError.self) { try all.proxy(for: "https://a.example") }
        #expect(error?.variable == "ALL_PROXY")
    }

    /// A mark after a delimiter makes another character of it, and no other octet.
    @Test func delimitersAreOctets() throws {
        let settings = try ProxySettings("http://joe:\u{301}pw@proxy.example:1")
        #expect(settings.credentials.map { [$0.user, $0.password] } == ["joe", "\u{301}pw"])
        #expect(throws: ProxySettingsError.self) { try ProxySettings("http://proxy.example/\u{338}path") }
        let policy = ProxyPolicy.environment(["all_proxy": "p", "no_proxy": "a.example,\u{301}b,c.example"])
        #expect(try policy.proxy(for: "http://a.example") == nil && policy.proxy(for: "http://c.example") == nil)
    }

    @Test(arguments: ["http://joe:s3cret@p.example", "joe:s3cret@p.example", "joe:s3cret"]) func aURLInPlaceOfTheHostIsNotShown(
        _ host: String
    )
        throws
    {
        for settings in [ProxySettings.http(host: host, port: 3128), .https(host: host), .socks5(host: host)] {
            let error = #expect(throws: ProxySettingsError.self) { try settings.address() }
            var text = "\(settings) \(String(reflecting: settings)) \(ProxyPolicy.all(settings)) \(error.map { "\($0)" } ?? "")"
            dump(settings, to: &text)
            #expect(!text.contains("s3cret") && text.contains("use ProxySettings(_:) for a URL"))
        }
    }

    // MARK: - Variables

    static let variables: [([String: String], http: String, https: String)] = [
        ([:], "none", "none"),
        (["http_proxy": "a"], "a:1080", "none"),
        (["HTTP_PROXY": "a"], "none", "none"),
        (["https_proxy": "a"], "none", "a:1080"),
        (["HTTPS_PROXY": "a"], "none", "a:1080"),
        (["https_proxy": "a", "HTTPS_PROXY": "b"], "none", "a:1080"),
        (["https_proxy": "", "HTTPS_PROXY": "b"], "none", "b:1080"),
        (["all_proxy": "a"], "a:1080", "a:1080"),
        (["ALL_PROXY": "a", "http_proxy": "b"], "b:1080", "a:1080"),
        (["all_proxy": "a", "ALL_PROXY": "b", "https_proxy": "c"], "a:1080", "c:1080"),
        // Desktops set `all_proxy` to such a URL. curl does not use this URL here.
        (["all_proxy": "socks://127.0.0.1:1080/", "http_proxy": "a", "https_proxy": "b"], "a:1080", "b:1080"),
        (["all_proxy": "a", "no_proxy": "*"], "none", "none"),
        (["all_proxy": "a", "NO_PROXY": "example"], "none", "none"),
        (["all_proxy": "a", "no_proxy": "x", "NO_PROXY": "*"], "a:1080", "a:1080"),
    ]

    @Test(arguments: variables.indices) func theVariablesChooseAProxy(_ index: Int) throws {
        let (variables, http, https) = Self.variables[index]
        let policy = ProxyPolicy.environment(variables)
        let (first, second) = (try policy.proxy(for: "http://o.example"), try policy.proxy(for: "https://o.example"))
        #expect((first.map { "\($0)" } ?? "none") == http)
        #expect((second.map { "\($0)" } ?? "none") == https)
    }

    @Test(arguments: [
        // list, origin, whether it needs no proxy
        ("*", "http://a.example", true), ("a.example", "http://a.example", true), ("A.Example.", "http://a.example", true),
        (".a.example", "http://a.example", true), ("*.a.example", "http://b.a.example", true), ("a.example", "http://b.a.example:81", true),
        ("a.example", "http://ba.example", false), ("b.example, a.example", "https://a.example", true),
        ("b.example a.example", "https://a.example", true), ("a.example", "https://a.example.", true), ("", "http://a.example", false),
        ("a.example:8080", "http://a.example:8080", true), ("a.example:8080", "http://a.example", false),
        ("a.example:443", "https://a.example", true), ("192.0.2.1", "http://192.0.2.1", true), ("192.0.2.1", "http://192.0.2.11", false),
        ("192.0.2.1:80", "http://192.0.2.1", true), ("2.1", "http://192.0.2.1", false), ("192.0.2.0/24", "http://192.0.2.9", true),
        ("192.0.2.0/24", "http://192.0.3.9", false), ("192.0.2.128/25", "http://192.0.2.127", false),
        ("192.0.2.128/25", "http://192.0.2.200", true), ("0.0.0.0/0", "http://192.0.2.1", true), ("0.0.0.0/0", "http://[::1]", false),
        ("10.0.0.0/8", "http://10.example", false), ("::1", "http://[::1]", true), ("[::1]", "http://[0:0:0:0:0:0:0:1]:81", true),
        ("[::1]:81", "http://[::1]:81", true), ("[::1]:81", "http://[::1]", false), ("2001:db8::/33", "http://[2001:db8:7fff::1]", true),
        ("2001:db8::/33", "http://[2001:db8:8000::1]", false), ("::/0", "http://[2001:db8::1]", true), ("::1", "http://[::2]", false),
    ])
    func noProxyListsOriginsWithoutAProxy(_ list: String, _ origin: String, _ isExcepted: Bool) throws {
        let policy = ProxyPolicy.environment(["all_proxy": "p", "no_proxy": list])
        let proxy = try policy.proxy(for: try Origin(origin))
        #expect((proxy == nil) == isExcepted)
    }

    @Test(arguments: [
        "10.0.0.0/33", "10.0.0.0/", "10.0.0.0/x", "a.example/8", "::/129", "a.example:0", "a.example:x", "a*.example", "a b,c..d", "[::1",
        "**", "/var/run/docker.sock", "192.168.*", "<local>",
    ])
    func anInvalidPartMatchesNothingAndIsShown(_ list: String) throws {
        let policy = ProxyPolicy.environment(["all_proxy": "p", "NO_PROXY": list + ",c.example"])
        #expect(try policy.proxy(for: "http://c.example") == nil && policy.proxy(for: "http://a.example") != nil)
        #expect("\(policy)".contains("; parts of no_proxy that match nothing: '"))
        #expect("\(ProxyPolicy.environment(["NO_PROXY": list]))" == "none")
    }

    // MARK: - The policy

    @Test func aPolicyShowsNoSecret() throws {
        let proxy = ProxySettings.http(host: "p.example", port: 1, credentials: ("joe", "hunter2"))
        let policies = [
            ProxyPolicy.none, .all(proxy), ProxyPolicy.environment(["all_proxy": "joe:hunter2@p.example:1"]), .byOrigin { _ in proxy },
        ]
        #expect(
            policies.map { "\($0)" }
                == [
                    "none", "all through the HTTP proxy p.example:1",
                    "by the environment: http through p.example:1, https through p.example:1",
                    "by origin",
                ])
        for policy in policies {
            var dumped = ""
            dump(policy, to: &dumped)
            #expect(!dumped.contains("hunter2") && !"\(String(reflecting: policy))".contains("hunter2"))
        }
    }

    @Test func aClosureChoosesByOrigin() throws {
        let proxy = ProxySettings.socks5(host: "p.example")
        let policy = ProxyPolicy.byOrigin { $0.host == "a.example" ? proxy : nil }
        #expect(try policy.proxy(for: "http://a.example") == proxy)
        #expect(try policy.proxy(for: "http://b.example") == nil)
    }

    @Test func authenticatorsAreEqualIfOneIsACopyOfTheOther() {
        let (first, second) = (ProxyAuthenticator { _ in "x" }, ProxyAuthenticator { _ in "x" })
        let proxy = ProxySettings.http(host: "p", port: 1)
        #expect(proxy.authenticated(by: first) == proxy.authenticated(by: first))
        #expect(proxy.authenticated(by: first) != proxy.authenticated(by: second) && proxy.authenticated(by: first) != proxy)
        let challenge = ProxyChallenge(from: proxy, challenges: [], method: .get, target: "http://a.example/")
        #expect(first.respond(to: challenge) == "x" && challenge.refusals == 0)
    }
}
