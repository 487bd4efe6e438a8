public import Testing

/// Starts the servers that all tests share, before the leak trait looks at a test. Put this trait in front of the leak trait.
public struct SharedServers: SuiteTrait, TestTrait, TestScoping {
    public var isRecursive: Bool { true }

    private let startsBadTLS: Bool
    private let startsProxies: Bool

    /// - Parameters:
    ///   - badTLS: whether the servers with wrong TLS are among them.
    ///   - proxies: whether the proxies of ``RealServer`` are among them.
    public init(badTLS: Bool = false, proxies: Bool = false) { (startsBadTLS, startsProxies) = (badTLS, proxies) }

    public func provideScope(
        for test: Test, testCase: Test.Case?, performing function: @Sendable @concurrent () async throws -> Void
    ) async throws {
        // A test that needs it reports why it did not start.
        if NginxServer.isHere { _ = try? await NginxServer.shared() }
        if startsBadTLS, Suites.folder != nil, BadTLSServer.hasOpenSSL, BadTLSServer.hasPython { _ = try? await BadTLSServer.shared() }
        if startsProxies { RealServer.startProxies() }
        try await function()
    }
}
