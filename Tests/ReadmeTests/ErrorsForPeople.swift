import Errand
import Foundation

// The samples of the article "Errors for people", unchanged: `ReadmeTests` compares each sample with this file.

func message(for error: any Error) -> String? {
    if error.isCancellation { return nil }
    let suggestion = (error as? any LocalizedError)?.recoverySuggestion
    return [error.localizedDescription, suggestion].compactMap { $0 }.joined(separator: " ")
}

nonisolated enum Texts {
    static let german = FailureTexts([
        .notConnected: "Dieses Gerät ist offline.",
        .cannotConnect: "Der Server ist nicht erreichbar.",
        .responseTimedOut: "Der Server antwortet nicht.",
        .serverError: "Der Server hat eine Störung.",
        .other: "Das hat nicht geklappt.",
    ])
}

func germanMessage(for error: any Error) -> String {
    Texts.german.text(for: error)
}

func texts(in bundle: Bundle) -> FailureTexts {
    FailureTexts { number, _ in
        let text = bundle.localizedString(forKey: "\(number)", value: nil, table: "Failures")
        return text == "\(number)" ? nil : text
    }
}

func messageWithServer(for error: any Error) -> String {
    let text = Texts.german.text(for: error)
    guard let origin = (error as? any RequestFailure)?.request?.origin else { return text }
    return "\(origin.host): \(text)"
}

func groupInCrashReports(_ error: any Error) -> String {
    let bridged = error as NSError
    return "\(bridged.domain) \(bridged.code)"  // Errand 1002
}

// swift-format-ignore
func load(_ id: Int, from api: APIClient) async throws -> Note? {
    do {
        return try await api.get("/notes/\(id, "id")")
    } catch let error as StatusError where error.status == .notFound {
        return nil
    } catch where error.isServerError || error.isTimeout {
        return try await api.get("/cached/notes/\(id, "id")")
    }
}

func pay(_ order: Int, with api: APIClient) async throws -> String {
    do {
        try await api.post("/orders/\(order, "id")/payment")
        return "Paid."
    } catch let failure as any RequestFailure {
        switch failure.delivery {
        case .notSent: return "Not paid. Try again."
        case .unknown, .sent: return "Check your account before you try again."
        }
    }
}

nonisolated struct ServerMessage: Decodable { var reason: String }

func reason(of error: StatusError) -> String {
    if let title = error.problem?.title { return title }
    return (try? error.json(as: ServerMessage.self))?.reason ?? error.localizedDescription
}

nonisolated struct APIProblem: LocalizedError, Decodable {
    var reason: String
    var errorDescription: String? { reason }
}

func client(of stack: HTTPStack) -> APIClient {
    APIClient(stack) { refused in try refused.json(as: APIProblem.self) }
}

func rename(_ id: Int, with api: APIClient) async throws -> String {
    do {
        try await api.patch("/notes/\(id, "id")")
        return "Renamed."
    } catch let problem as APIProblem {
        return problem.reason
    }
}
