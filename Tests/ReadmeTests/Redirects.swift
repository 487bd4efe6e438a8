import Errand

// The samples of the article "Redirects", unchanged: `ReadmeTests` compares each sample with this file.

nonisolated struct Paper: Codable, Sendable, Equatable {
    var title: String
}

func paper(_ id: Int, from api: APIClient) async throws -> Paper {
    let response = try await api.response(.get("/papers/\(id, "id")", as: Paper.self))
    for hop in response.metadata.redirects { print(hop.status.code, hop.from, "to", hop.to) }
    print("final URL:", response.request.redactedURL)
    return response.value
}

func makeCareful(_ network: HTTPStack) -> HTTPStack {
    network.redirect(RedirectPolicy(maxHops: 3))
}

nonisolated struct LeftTheArchive: Error {}

func makeArchive(_ network: HTTPStack) -> APIClient {
    let policy = RedirectPolicy(maxHops: 5).deciding { hop in
        if hop.to.path == "/maintenance" { return .stop }
        if hop.crossesOrigin { return .fail(LeftTheArchive()) }
        var next = hop.next
        next.headers[.custom("X-Hop")] = "\(hop.history.count + 1)"
        return .follow(next)
    }
    return APIClient(network.redirect(policy).retry().server("https://archive.example"))
}

func location(of id: Int, in api: APIClient) async throws -> String? {
    let endpoint = Endpoint<Void>.get("/papers/\(id, "id")").with(\.redirect, .off).with(\.validateStatus, .off)
    return try await api.response(endpoint).headers[.location]
}

func isOverPlainHTTP(_ error: any Error) -> Bool {
    (error as? RedirectError)?.code == .downgrade
}

func firstURL(of error: any Error) -> String? {
    switch error {
    case let error as StatusError: error.redirects.first?.from
    case let error as RedirectError: error.redirects.first?.from
    case let error as ResponseDecodingError: error.redirects.first?.from
    default: nil
    }
}

func makeSecure(_ network: HTTPStack, hosts: HSTSList) -> HTTPStack {
    network.hsts(hosts)
}

func makeHosts(inFolder folder: String) throws -> HSTSList {
    HSTSList(preloaded: [try HSTSHost("archive.example")], store: FileHSTSStore(atPath: folder + "/hsts.txt"))
}
