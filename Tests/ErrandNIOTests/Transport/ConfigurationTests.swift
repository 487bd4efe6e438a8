#if SWIFT_NIO
import ErrandCore
import ErrandNIO
import Testing

@Suite(.timeLimit(.minutes(5))) struct NIOConfigurationTests {
    private static let refusals: [(@Sendable (inout NIOTransport.Configuration) -> Void, setting: String, reason: String)] = [
        ({ $0.connectTimeout = .zero }, "connectTimeout", "it must be more than zero (is 0 s)"),
        ({ $0.connectTimeout = .seconds(-1) }, "connectTimeout", "it must be more than zero (is -1 s)"),
        ({ $0.idleTimeout = .seconds(-1) }, "idleTimeout", "it must be at least zero (is -1 s)"),
        ({ $0.maxConnectionAge = .milliseconds(-5) }, "maxConnectionAge", "it must be at least zero (is -5 ms)"),
        ({ $0.maxConnectionsPerOrigin = 0 }, "maxConnectionsPerOrigin", "it must be at least 1 (is 0)"),
        ({ $0.maxConnections = -3 }, "maxConnections", "it must be at least 1 (is -3)"),
        ({ $0.responseLimits.headBytes = 0 }, "responseLimits.headBytes", "it must be at least 1 (is 0)"),
        ({ $0.responseLimits.fieldCount = 0 }, "responseLimits.fieldCount", "it must be from 1 to 65534 (is 0)"),
        ({ $0.responseLimits.interimResponseCount = -1 }, "responseLimits.interimResponseCount", "it must be at least 0 (is -1)"),
        ({ $0.responseLimits.fieldCount = 65_535 }, "responseLimits.fieldCount", "it must be from 1 to 65534 (is 65535)"),
        (
            { ($0.allowsHTTP2, $0.usesHTTP2WithoutTLS) = (false, true) }, "usesHTTP2WithoutTLS",
            "it must be false if allowsHTTP2 is false (is true)"
        ),
        (
            { ($0.allowsHTTP2, $0.sharesConnectionsAcrossHosts) = (false, true) }, "sharesConnectionsAcrossHosts",
            "it must be false if allowsHTTP2 is false (is true)"
        ),
        (
            {
                $0.sharesConnectionsAcrossHosts = true
                $0.tls.clientCertificate = .init(chainPEMFile: "client.pem", keyPEMFile: "client.key")
            }, "sharesConnectionsAcrossHosts", "connections with a client certificate are not shared; set only one of the two"
        ),
        (
            { ($0.unixSocketPath, $0.sharesConnectionsAcrossHosts) = ("/tmp/socket", true) }, "sharesConnectionsAcrossHosts",
            "connections to a Unix domain socket are not shared; set only one of the two"
        ),
    ]

    @Test(arguments: refusals.indices) func aSettingOutsideItsBoundsIsRefused(_ index: Int) {
        let (configure, setting, reason) = Self.refusals[index]
        var configuration = NIOTransport.Configuration()
        configure(&configuration)
        let refused = configuration
        let error = #expect(throws: UnusableSettingError.self) { try NIOTransport(refused) }
        #expect(error?.setting == setting)
        #expect(error?.reason == reason)
        #expect(error?.description == "the setting \(setting) can't be used: \(reason)")
    }

    @Test func theBoundsAreAllowed() throws {
        var configuration = NIOTransport.Configuration()
        (configuration.connectTimeout, configuration.idleTimeout, configuration.maxConnectionAge) = (.nanoseconds(1), .zero, .zero)
        (configuration.maxConnectionsPerOrigin, configuration.maxConnections) = (1, 1)
        (configuration.responseLimits.headBytes, configuration.responseLimits.fieldCount) = (1, 65_534)
        _ = try NIOTransport(configuration)
        // The default settings need no try.
        _ = NIOTransport()
    }
}
#endif
