import Errand

// The samples of the article "ValidatingResponses", unchanged: `ReadmeTests` compares each sample with this file.

nonisolated struct Seat: Codable, Sendable, Equatable {
    var row: Int
}

func findSeat(_ id: Int, with api: APIClient) async throws -> Seat? {
    let seat = Endpoint<Seat?>.get("/seats/\(id, "id")").with(\.validateStatus, .use(.statuses([200, 204])))
    return try await api.value(seat)
}

nonisolated struct WrongContentError: Error {}

nonisolated let isJSON = ResponseValidator("is JSON") { _, response, _ in
    guard response.status.kind == .successful else { return .next }  // an error page keeps its status
    let type = response.headers[.contentType] ?? ""
    return type.hasPrefix("text/html") ? .fail(WrongContentError()) : .next
}

func makeHall(_ network: HTTPStack) -> APIClient {
    APIClient(network.retry().validate(isJSON).server("https://hall.example"))
}

nonisolated struct HallState: Decodable, Sendable {
    var code: Int
}

/// The code 50300 means: busy, ask again.
nonisolated let isReady = ResponseValidator("is ready") { _, response, _ in
    let state = try? await response.json(as: HallState.self)
    return state?.code == 50_300 ? .retry(.exponential(base: .milliseconds(200)), atMost: 3) : .next
}

nonisolated struct HallProblem: LocalizedError, Decodable {
    var reason: String
    var errorDescription: String? { reason }
}

func makeOpenHall(_ network: HTTPStack, clock: any Clock<Duration> = ContinuousClock()) -> APIClient {
    APIClient(network.retry().validate(isReady, clock: clock).server("https://hall.example")) { refused in
        try refused.json(as: HallProblem.self)
    }
}
