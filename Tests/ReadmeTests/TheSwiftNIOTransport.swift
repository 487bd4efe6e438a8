import Errand
import Foundation

// The samples of the article "The transport over SwiftNIO", unchanged: `ReadmeTests` compares each sample with this file.

func makeNIOTransport() throws -> NIOTransport {
    var configuration = NIOTransport.Configuration()
    configuration.connectTimeout = .seconds(2)
    configuration.maxConnectionsPerOrigin = 32
    configuration.maxConnectionAge = .seconds(300)
    return try NIOTransport(configuration)
}

func warmUp(_ paths: [String], over transport: NIOTransport) async throws {
    let stack = transport.server("https://a.example")
    try await withTaskExecutorPreference(transport.executors[0]) {
        try await transport.preconnect(to: "https://a.example", count: 4)
        for path in paths { _ = try await stack.send(Request(.get, PathTemplate(verbatim: path))).body.collect() }
    }
}

func makePinnedTransport() throws -> NIOTransport {
    var configuration = NIOTransport.Configuration()
    configuration.tls.minimumVersion = .tls13
    configuration.tls.pins = try CertificatePins([
        "**.a.example": [
            "sha256/AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA=",  // in use
            "sha256/AQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQE=",  // the backup
        ]
    ])
    return try NIOTransport(configuration)
}

func makeLocalTransport() throws -> NIOTransport {
    var configuration = NIOTransport.Configuration()
    configuration.resolver = try HostOverrides(["api.a.example:443:127.0.0.1,[::1]"])
    return try NIOTransport(configuration)
}

func makeDaemonTransport() throws -> NIOTransport {
    var configuration = NIOTransport.Configuration()
    configuration.unixSocketPath = "/var/run/docker.sock"
    return try NIOTransport(configuration)
}

func showPhases(of transport: NIOTransport) async throws {
    let response = try await transport.profile().send(Request(.get, url: "https://a.example/"))
    _ = try await response.body.collect()
    for phase in response.metadata.timings?.exchanges.last?.phases ?? [] {
        print(phase.name, phase.duration)  // queue, dns, connect, tls, send, wait, receive
    }
}
