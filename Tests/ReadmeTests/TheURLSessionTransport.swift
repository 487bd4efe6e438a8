import Errand
import ErrandURLSession
import Foundation

#if canImport(FoundationNetworking)
import FoundationNetworking
#endif

// The samples of the article "The transport over URLSession", unchanged: `ReadmeTests` compares each sample with this file.

func readings(of device: URL, knownCertificate: Data, over stack: HTTPStack) async throws -> Data {
    var request = try Request(.get, url: device)
    request.options.onServerTrust = { server in
        server.certificates.first == knownCertificate ? .acceptWithoutVerification : .systemVerdict
    }
    return try await stack.send(request).data()
}

func transportForTests() throws -> URLSessionTransport {
    var tls = TLSSettings()
    tls.uncheckedHostsForTesting = .loopback
    return try URLSessionTransport(tls: tls)
}

func stackWithCompanyToken(_ token: @escaping @Sendable () -> String, events sink: some EventSink) -> HTTPStack {
    let transport = URLSessionTransport(configure: { urlRequest in
        urlRequest.setValue("Bearer \(token())", forHTTPHeaderField: "Authorization")
    })
    return HTTPStack.sorted(around: transport).events(to: sink)
}
