import Errand
import Testing

/// The settings that every transport takes.
@Suite(.timeLimit(.minutes(5))) struct TransportSettingsTests {
    @Test func aProxyKnowsItsProtocolItsAddressAndItsCredentials() {
        let http = ProxySettings.http(host: "proxy.example", port: 3128, credentials: (user: "joe", password: "hunter2"))
        #expect((http.kind, http.host, http.port) == (.http, "proxy.example", 3128))
        #expect(http.credentials == ProxySettings.Credentials(user: "joe", password: "hunter2"))
        #expect(ProxySettings.http(host: "proxy.example", port: 3128).credentials == nil)
        let socks = ProxySettings.socks5(host: "proxy.example")
        #expect((socks.kind, socks.host, socks.port) == (.socks5, "proxy.example", 1080))
        #expect(socks.credentials == nil)
    }

    @Test func aProxyShowsWhereItIsAndNotWhoUsesIt() {
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
}
