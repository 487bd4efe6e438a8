import Errand
import Testing

/// The settings that every transport takes.
@Suite(.timeLimit(.minutes(5))) struct TransportSettingsTests {
    @Test func aProxyHasProtocolAddressAndCredentials() {
        let http = ProxySettings.http(host: "proxy.example", port: 3128, credentials: (user: "joe", password: "hunter2"))
        #expect((http.kind, http.host, http.port) == (.http, "proxy.example", 3128))
        #expect(http.credentials == ProxySettings.Credentials(user: "joe", password: "hunter2"))
        #expect(ProxySettings.http(host: "proxy.example", port: 3128).credentials == nil)
        let socks = ProxySettings.socks5(host: "proxy.example")
        #expect((socks.kind, socks.host, socks.port) == (.socks5, "proxy.example", 1080))
        #expect(socks.credentials == nil)
    }

    @Test func aProxyShowsItsAddressAndNoCredentials() {
        let credentials = ProxySettings.Credentials(user: "joe", password: "hunter2")
        let proxy = ProxySettings.http(host: "proxy.example", port: 3128, credentials: (user: "joe", password: "hunter2"))
        var dumped = ""
        dump(proxy, to: &dumped)
        dump(credentials, to: &dumped)
        for text in ["\(proxy)", String(reflecting: proxy), "\(credentials)", String(reflecting: credentials), dumped] {
            #expect(!text.contains("joe") && !text.contains("hunter2"), "\(text)")
        }
        #expect("\(proxy)" == "proxy.example:3128")
        #expect(dumped.contains("HTTP") && dumped.contains("3128"))
    }

    @Test func tlsTrustsTheSystemAndPresentsNothingByDefault() {
        var settings = TLSSettings()
        #expect(settings.extraRootsPEMFiles.isEmpty && settings.clientCertificate == nil)
        settings.clientCertificate = TLSSettings.ClientCertificate(chainPEMFile: "chain.pem", keyPEMFile: "key.pem")
        #expect(settings != TLSSettings())
    }

    @Test func tlsHasSafeDefaults() {
        let settings = TLSSettings()
        #expect(settings.minimumVersion == .tls12 && settings.pins == nil && settings.uncheckedHostsForTesting == .none)
        #expect("\(settings)" == "TLS 1.2 or later")
    }

    @Test func tlsShowsNoPathOfAKey() throws {
        var settings = TLSSettings()
        settings.minimumVersion = .tls13
        settings.extraRootsPEMFiles = ["/roots.pem"]
        settings.clientCertificate = TLSSettings.ClientCertificate(chainPEMFile: "/chain.pem", keyPEMFile: "/hidden.pem")
        settings.pins = try CertificatePins(["*.a.example": [CertificatePinTests.first, CertificatePinTests.second]])
        settings.uncheckedHostsForTesting = try .loopback.union(.hosts("B.example"))
        #expect(
            "\(settings)" == "TLS 1.3 or later, 1 file of extra roots, a client certificate, pins of *.a.example, "
                + "ANY CERTIFICATE of loopback, b.example")
        var dumped = ""
        dump(settings, to: &dumped)
        if let certificate = settings.clientCertificate {
            dump(certificate, to: &dumped)
            dumped += "\(certificate)"
        }
        #expect(!dumped.contains("hidden"), "\(dumped)")
    }

    @Test(arguments: [
        ("localhost", true), ("LOCALHOST", false), ("a.localhost", true), ("localhost.", true), ("127.0.0.1", true), ("127.255.3.4", true),
        ("[::1]", true), ("[0::1]", true), ("127.a.example", false), ("localhost.example", false), ("notlocalhost", false),
        ("10.0.0.1", false), ("[::2]", false), ("a.example", false),
    ])
    func loopbackIsKnownByItsName(host: String, isLoopback: Bool) {
        #expect(TLSSettings.UncheckedHosts.loopback.contains(host) == isLoopback)
        #expect(!TLSSettings.UncheckedHosts.none.contains(host))
    }

    @Test func uncheckedHostsAreSpelledOut() throws {
        let hosts = try TLSSettings.UncheckedHosts.hosts("A.example.", "10.0.0.1", "2001:db8::1", "bücher.example")
        for host in ["a.example", "a.example.", "10.0.0.1", "[2001:db8::1]", "[2001:db8:0::1]", "xn--bcher-kva.example"] {
            #expect(hosts.contains(host), "\(host)")
        }
        for host in ["b.a.example", "example", "10.0.0.2", "localhost", "127.0.0.1"] { #expect(!hosts.contains(host), "\(host)") }
        let both = hosts.union(.loopback)
        #expect(both.contains("localhost") && both.contains("a.example"))
        for text in ["*.a.example", "*", "", "a.example:443", "https://a.example", "a b"] {
            let error = #expect(throws: TLSSettingsError.self) { try TLSSettings.UncheckedHosts.hosts(text) }
            #expect(error?.code == .invalidHost)
        }
    }

    @Test(arguments: [
        ("NIOSSLExtraError.failedToValidateHostname: Couldn't find <none> in certificate from peer", "the certificate is for another host"),
        ("Error: 268435581 error:1000007d:SSL routines:OPENSSL_internal:CERTIFICATE_VERIFY_FAILED at", "not trusted, or not valid now"),
        ("SSL routines:OPENSSL_internal:TLSV1_ALERT_UNKNOWN_CA at", "the server does not trust the authority of the client certificate"),
        ("SSL routines:OPENSSL_internal:TLSV1_ALERT_CERTIFICATE_REQUIRED at", "the server needs a client certificate"),
        ("SSL routines:OPENSSL_internal:SSLV3_ALERT_CERTIFICATE_EXPIRED at", "the server refused the client certificate: it has expired"),
        ("SSL routines:OPENSSL_internal:SSLV3_ALERT_BAD_CERTIFICATE at", "the server refused the client certificate"),
        ("SSL routines:OPENSSL_internal:TLSV1_ALERT_PROTOCOL_VERSION at", "the server supports none of the allowed versions of TLS"),
        ("SSL routines:OPENSSL_internal:SSLV3_ALERT_HANDSHAKE_FAILURE at", "the server refused the handshake"),
        ("SSL routines:OPENSSL_internal:WRONG_VERSION_NUMBER at", "the other side does not speak TLS"),
        ("X.509 certificate routines:OPENSSL_internal:KEY_VALUES_MISMATCH at", "the private key does not belong to the certificate"),
        ("SSL routines:OPENSSL_internal:TLSV1_ALERT_INTERNAL_ERROR at", "tlsv1 alert internal error"),
    ])
    func anErrorOfTLSIsDescribedInWords(text: String, words: String) {
        #expect(tlsErrorText(text).contains(words))
    }
}
