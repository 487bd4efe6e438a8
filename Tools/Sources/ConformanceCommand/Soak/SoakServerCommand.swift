import ArgumentParser
import Foundation

/// The servers of `conformance soak --http2`, in a separate process.
struct SoakServerCommand: ParsableCommand {
    static let name = "soak-server"

    static let configuration = CommandConfiguration(
        commandName: name, abstract: "Runs the servers of 'soak --http2', which starts this subcommand itself.", shouldDisplay: false)

    func run() throws {
        let server = try HTTP2SoakServer()
        try write(HTTP2SoakService.Start(ports: server.ports, certificatePEM: server.certificatePEM))
        while readLine() != nil { try write(HTTP2SoakService.Report(connections: server.connections, deeds: server.deeds)) }
    }

    private func write(_ value: some Encodable) throws {
        try FileHandle.standardOutput.write(contentsOf: JSONEncoder().encode(value) + Data("\n".utf8))
    }
}
