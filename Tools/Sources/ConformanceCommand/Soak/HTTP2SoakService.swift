import Foundation

/// The HTTP/2 servers in a separate process, so that only the client adds to the memory of this process.
///
/// The process is `conformance soak-server`. Its first line of JSON names the ports. Each line on its input gets a report as a line of
/// JSON, until the input ends.
final class HTTP2SoakService: SoakDestination {
    /// The first line.
    struct Start: Codable {
        var ports: [Int]
        var certificatePEM: String
    }

    /// Each further line.
    struct Report: Codable {
        var connections: Int
        /// The number of each action of the servers, by the name of the action.
        var deeds: [String: Int]
    }

    let origins: [String]
    let certificatePath: String?
    private let input = Pipe()
    private let output = Pipe()

    init() async throws {
        let process = Process()
        process.executableURL = Bundle.main.executableURL
        process.arguments = [SoakServerCommand.name]
        process.standardInput = input
        process.standardOutput = output
        try process.run()
        // If this process kept the writing end open, reading would not end with the other process.
        try output.fileHandleForWriting.close()
        let start = try JSONDecoder().decode(Start.self, from: await Self.line(output))
        origins = start.ports.map { "https://127.0.0.1:\($0)" }
        let file = FileManager.default.temporaryDirectory.appendingPathComponent("errand-soak-\(UUID().uuidString).pem")
        try Data(start.certificatePEM.utf8).write(to: file)
        certificatePath = file.path
    }

    func openConnections() async throws -> Int { try await report().connections }

    func stop() async throws -> String {
        let deeds = try await report().deeds
        try input.fileHandleForWriting.close()
        if let certificatePath { try FileManager.default.removeItem(atPath: certificatePath) }
        return deeds.sorted { $0.key < $1.key }.map { "\($0.value) \($0.key)" }.joined(separator: ", ")
    }

    private func report() async throws -> Report {
        try input.fileHandleForWriting.write(contentsOf: Data("report\n".utf8))
        return try JSONDecoder().decode(Report.self, from: await Self.line(output))
    }

    /// Reads a line. Reading blocks, so a separate thread reads.
    private static func line(_ pipe: Pipe) async throws -> Data {
        try await withCheckedThrowingContinuation { continuation in
            DispatchQueue.global().async {
                continuation.resume(
                    with: Result {
                        var line = Data()
                        while let byte = try pipe.fileHandleForReading.read(upToCount: 1), let value = byte.first {
                            if value == UInt8(ascii: "\n") { return line }
                            line.append(value)
                        }
                        throw CocoaError(.fileReadUnknown)
                    })
            }
        }
    }
}
