import Errand

// The samples of the article "Polling", unchanged: `ReadmeTests` compares each sample with this file.

nonisolated struct Job: Decodable, Sendable {
    var state: String
    var progress: Double
}

struct JobFailed: Error {}

@MainActor final class JobScreen {
    private(set) var progress = 0.0

    func wait(forJob id: Int, client: APIClient) async throws {
        let job = Endpoint<Job>.get("/jobs/\(id, "id")")
        _ = try await client.poll(job) { response in
            progress = response.value.progress
            if response.value.state == "failed" { throw JobFailed() }
            return response.value.state == "done"
        }
    }
}

extension JobScreen {
    func waitWithProgressOf202(forJob id: Int, client: APIClient) async throws {
        while true {
            let response = try await client.response(Endpoint<Job>.get("/jobs/\(id, "id")"))
            progress = response.value.progress
            if response.value.state == "failed" { throw JobFailed() }
            if response.status != .accepted { return }
            try await Task.sleep(for: response.headers.retryAfter ?? .seconds(2))
        }
    }
}

nonisolated struct Report: Decodable, Sendable {
    var url: String
}

func makeReport(_ client: APIClient, year: Int) async throws -> Report {
    let begin = Endpoint<Report>.post("/reports", body: .json(["year": year]))
    return try await client.poll(begin, policy: PollingPolicy(timeout: .seconds(120))).value
}
