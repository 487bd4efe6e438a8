import Errand
import Foundation

// The samples of the article "HTTP/2", unchanged: `ReadmeTests` compares each sample with this file.

func makeHTTP2Transport() throws -> NIOTransport {
    var configuration = NIOTransport.Configuration()
    configuration.pingInterval = .seconds(20)  // finds a connection that a firewall has forgotten
    configuration.usesHTTP2WithoutTLS = true  // also for http URLs, where every server must know it
    return try NIOTransport(configuration)
}

func makeSharingTransport() throws -> NIOTransport {
    var configuration = NIOTransport.Configuration()
    configuration.sharesConnectionsAcrossHosts = true
    return try NIOTransport(configuration)
}

func printSharedConnections(of transport: NIOTransport) {
    for connection in transport.openConnections where !connection.sharedWith.isEmpty {
        print(connection)  // #1 https://api.a.example at 192.0.2.1:443, shared with https://images.a.example, HTTP/2, …
    }
}

func readBesideADownload(over transport: NIOTransport) async throws {
    let stack = transport.server("https://a.example")
    async let export = stack.download(Request(.get, "/export"), to: URL(fileURLWithPath: "export.zip"))
    var question = try Request(.get, "/status")
    question.options.priority = .high
    print(try await stack.send(question).text())  // a stream of its own, over the same connection
    _ = try await export
}

func readWithItsChecksum(_ request: Request, over transport: NIOTransport) async throws -> (Data, checksum: String?) {
    let body = try await transport.send(request).body
    let data = try await body.collect()
    let name = HTTPField.Name("Content-Digest")
    return (data, name.flatMap { body.trailers?[$0] })
}

func printAlternatives(of request: Request, over transport: NIOTransport) async throws {
    _ = try await transport.send(request).body.collect()
    guard let origin = request.origin else { return }
    for service in transport.alternativeServices(for: origin) { print(service) }
}
