/// Where the requests of a soak go.
protocol SoakDestination: Sendable {
    /// A plan has an index of this list.
    var origins: [String] { get }
    /// The file of the certificate to trust; `nil` without TLS.
    var certificatePath: String? { get }
    /// How many connections its side has.
    func openConnections() async throws -> Int
    /// Returns what it has seen, in words; empty if it counts nothing.
    func stop() async throws -> String
}

extension SoakServer: SoakDestination {
    var origins: [String] { ports.map { "http://127.0.0.1:\($0)" } }
    var certificatePath: String? { nil }
    func openConnections() async throws -> Int { connections }

    func stop() async throws -> String {
        try await close()
        return ""
    }
}
