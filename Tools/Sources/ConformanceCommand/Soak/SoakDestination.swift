/// The servers to which a soak sends its requests.
protocol SoakDestination: Sendable {
    /// The origins of the servers. A plan has an index in this list.
    var origins: [String] { get }
    /// The file of the certificate to trust; `nil` without TLS.
    var certificatePath: String? { get }
    /// Returns the number of connections on the side of the servers.
    func openConnections() async throws -> Int
    /// Stops the servers, and returns their counted actions as text; empty if nothing is counted.
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
