import ErrandCore
import TestSupport
import Testing

@Suite(.timeLimit(.minutes(5))) struct OpenConnectionTests {
    @Test func anOpenConnectionIsDescribedInOneLine() {
        let whole = OpenConnection(
            number: 1, authority: "api.internal:52833", exchanges: 1, exchangesStarted: 7, scheme: "http", peerAddress: "127.0.0.1",
            peerPort: 52_833, age: .seconds(12))
        let text = "#1 http://api.internal:52833 at 127.0.0.1:52833, 1 in progress, 7 so far, 12 s old"
        #expect("\(whole)" == text)
        #expect(whole.customMirror.children.map { "\($0.value)" } == [text])
        let proxied = OpenConnection(
            number: 4, authority: "a.example", exchanges: 0, exchangesStarted: 2, scheme: "https", peerAddress: "192.0.2.1", peerPort: 3128,
            httpVersion: .http2, proxy: ProxyAddress(.http(host: "proxy.example", port: 3128, credentials: ("joe", "hunter2"))))
        #expect(
            "\(proxied)" == "#4 https://a.example through the HTTP proxy proxy.example:3128 at 192.0.2.1:3128, HTTP/2, 0 in progress, "
                + "2 so far")
        let shared = OpenConnection(
            number: 5, authority: "a.example", exchanges: 2, exchangesStarted: 2, scheme: "https", peerAddress: "192.0.2.1", peerPort: 443,
            httpVersion: .http2, sharedWith: ["https://b.example", "https://c.example"])
        #expect(
            "\(shared)"
                == "#5 https://a.example at 192.0.2.1:443, shared with https://b.example, https://c.example, HTTP/2, 2 in progress, "
                + "2 so far")
        let overIPv6 = OpenConnection(
            number: 2, authority: "a.example", exchanges: 0, exchangesStarted: 0, peerAddress: "::1", peerPort: 80)
        #expect("\(overIPv6)" == "#2 a.example at [::1]:80, 0 in progress, 0 so far")
        #expect("\(OpenConnection(number: 3, authority: nil, exchanges: 0, exchangesStarted: 0))" == "#3, 0 in progress, 0 so far")
    }
}
