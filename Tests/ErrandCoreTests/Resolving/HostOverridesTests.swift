import Errand
import TestSupport
import Testing

@Suite(.timeLimit(.minutes(5))) struct HostOverridesTests {
    private let elsewhere = StubResolver { throw HostNotFoundError($0, reason: "asked elsewhere") }

    private func addresses(_ overrides: HostOverrides, _ host: String, _ port: Int) async throws -> [String] {
        try await overrides.addresses(of: host, port: port).map(\.description)
    }

    @Test func entriesOfOneHostPrecedeWildcardEntries() async throws {
        let overrides = try HostOverrides(
            ["*:443:10.0.0.9", "API.example:443:127.0.0.1,[::1],2001:db8::1", "api.example:443:127.0.0.2,::1"], else: elsewhere)
        #expect(try await addresses(overrides, "api.example", 443) == ["127.0.0.2", "::1"])
        #expect(try await addresses(overrides, "other.example", 443) == ["10.0.0.9"])
        #expect("\(overrides)" == "*:443:10.0.0.9 api.example:443:127.0.0.2,[::1]")
        let error = await #expect(throws: HostNotFoundError.self) { try await addresses(overrides, "api.example", 80) }
        #expect(error?.description == "cannot find 'api.example': asked elsewhere")
    }

    @Test func entriesMayBeGivenAsATable() async throws {
        let overrides = try HostOverrides(["api.example:443": ["127.0.0.1", "::1"], "*:80": ["10.0.0.9"]], else: elsewhere)
        #expect(try await addresses(overrides, "api.example", 443) == ["127.0.0.1", "::1"])
        #expect(try await addresses(overrides, "x.example", 80) == ["10.0.0.9"])
    }

    @Test func anEntryIsKnownWithoutALookup() async throws {
        let cache = SystemHostResolver().cached()
        let overrides = try HostOverrides(["api.example:443:127.0.0.1"], else: cache)
        #expect(overrides.knownAddresses(of: "api.example", port: 443)?.map(\.description) == ["127.0.0.1"])
        #expect(overrides.knownAddresses(of: "localhost", port: 443) == nil)
        let found = try await overrides.addresses(of: "localhost", port: 443)
        #expect(overrides.knownAddresses(of: "localhost", port: 443) == found)
        #expect(overrides.cached().knownAddresses(of: "api.example", port: 443)?.map(\.description) == ["127.0.0.1"])
        #expect(SystemHostResolver().knownAddresses(of: "api.example", port: 443) == nil)
    }

    @Test(
        arguments: [
            ("", "the form is"), ("a.example", "the form is"), ("a.example:443", "the form is"),
            ("a.example::127.0.0.1", "'' is not a port"), ("a.example:+80:127.0.0.1", "not a port"),
            ("a.example:0:127.0.0.1", "'0' is not a port"), ("a.example:65536:127.0.0.1", "not a port"),
            ("a.example:443:", "'' is not an IP address"), ("a.example:443:localhost", "'localhost' is not an IP address"),
            ("a.example:443:127.0.0.1,", "'' is not an IP address"), ("a.example:443:127.0.0.1, ::1", "' ::1' is not an IP address"),
            ("a..example:443:127.0.0.1", "not a host name"), ("a b:443:127.0.0.1", "not a host name"),
            ("127.0.0.1:443:127.0.0.2", "never looked up"), ("[::1]:443:127.0.0.1", "the form is"),
        ] as [(String, String)])
    func anInvalidEntryIsRefused(_ entry: String, _ reason: String) {
        let error = #expect(throws: InvalidHostOverrideError.self) { try HostOverrides([entry]) }
        #expect(error?.reason.contains(reason) == true, "\(error as Any)")
        #expect(error?.description.hasPrefix("invalid host override '") == true)
    }

    @Test func aTableNeedsAddresses() {
        let error = #expect(throws: InvalidHostOverrideError.self) { try HostOverrides(["a.example:443": []]) }
        #expect(error?.reason == "it has no address")
        #expect(throws: InvalidHostOverrideError.self) { try HostOverrides(["a.example": ["127.0.0.1"]]) }
    }

    @Test func theSystemResolvesLocalhost() async throws {
        let found = try await SystemHostResolver().addresses(of: "localhost", port: 80)
        #expect(found.contains { "\($0)" == "127.0.0.1" || "\($0)" == "::1" })
        #expect(Set(found).count == found.count)
    }
}
