import Errand

// The samples of the article "RepeatingRequests", unchanged: `ReadmeTests` compares each sample with this file.

func makePatient(_ network: HTTPStack) -> APIClient {
    APIClient(network.retry().timeout(.seconds(30)).server("https://press.example"))
}

func send(_ article: String, with api: APIClient) async throws {
    try await api.post("/articles", body: .text(article)) { $0.idempotencyKey = .attached }
}

func makeWaitingForLocks(_ network: HTTPStack) -> APIClient {
    let policy = RetryPolicy.standard.deciding { attempt in
        switch attempt.result {
        case .success(let response) where response.status.code == 423: .retry(after: .milliseconds(200))  // locked by another user
        case .failure(let error as TransportError) where error.code == .cannotFindHost: .stop
        default: .byPolicy
        }
    }
    return APIClient(network.retry(policy).server("https://press.example"))
}

nonisolated struct PressEnvelope: ResponseEnvelope {
    var code: Int

    var failure: ServiceError? { code == 0 ? nil : ServiceError(.init(code)) }
}

func makeWaitingForThePress(_ network: HTTPStack) -> APIClient {
    let busy = ResponseValidator.retry(onServiceCodes: [50_300], backoff: .constant(.milliseconds(200)), atMost: 5)
    let stack = network.retry().validate(busy)
    return APIClient(stack.server("https://press.example"), envelope: PressEnvelope.self)
}

nonisolated struct Printing: Decodable, Sendable {
    var isDone: Bool
}

func waitForPrinting(_ id: Int, with api: APIClient) async throws {
    let printing = Endpoint<Printing>.get("/printings/\(id, "id")")
    _ = try await api.poll(printing) { response in response.value.isDone }
}

func makeMirrored(_ network: HTTPStack, _ mirror: HTTPStack) -> APIClient {
    let main = network.server("https://press.example").retry()
    return APIClient(main.fallback(to: mirror.server("https://mirror.example"), statuses: [503]).timeout(.seconds(10)))
}

func sendToPress(_ request: Request, with sender: some HTTPSender) async throws -> Response {
    var attempt = 1
    while true {
        do {
            return try await sender.send(request)
        } catch {
            guard let failure = TemporaryFailure(error), attempt < 5, request.body.canBeSent,
                request.mayBeSentAgain || failure.isUnprocessed,
                let wait = Backoff.exponential().wait(afterAttempt: attempt, retryAfter: failure.retryAfter, atMost: .seconds(60))
            else { throw error }
            try await Task.sleep(for: wait)
            attempt += 1
        }
    }
}
