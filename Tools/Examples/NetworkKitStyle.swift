import Errand
import Foundation
import Logging

/// The features of XXXNetworkKit, a template in the style of Moya, written with Errand.
///
/// For authentication, see `SignIn.swift`. For reachability, see `URLSessionGuide.swift`. Errand has no scripts that rename or scaffold a
/// project.
enum NetworkKitStyle {
    // MARK: - The envelope of the server, in one place

    // BaseResponse: unwraps "data", and throws the server's error as a ServiceError
    struct Envelope: ResponseEnvelope {
        var code: Int
        var message: String?

        var failure: ServiceError? { code == 0 ? nil : ServiceError(.init(code), message: message ?? "") }
    }

    // MARK: - Calls in namespaces: XXXAPI.User.info

    struct User: Codable, Sendable, Equatable {
        var id: Int
        var name: String
    }

    enum API {
        enum Users {
            static let info = Endpoint<User>.get("/envelope/user")
            static let denied = Endpoint<User>.get("/envelope/denied")
        }

        enum Articles {
            static func delete(ids: [Int]) -> Endpoint<Echo> {
                Endpoint(.delete, "/echo", query: ["ids": ids], decoding: .json.withoutEnvelope)
            }
        }
    }

    /// The request as the demo server received it.
    struct Echo: Decodable, Sendable, Equatable {
        var method: String
        var target: String
    }

    // MARK: - A single provider, shared by the app

    struct Provider: Sendable {
        let client: APIClient

        // Plugins are middleware. The log is only for debug builds, and only the status 200 is a success
        init(_ server: URL, logger: Logger) {
            var stack = HTTPStack.default.retry().validateStatus(.statuses([200])).timeout(.seconds(20))
            #if DEBUG
            stack = stack.log(to: logger, detail: .body())
            #endif
            client = APIClient(
                stack.profile().number().server(server, headers: [.custom("X-App-Version"): "1.0"]), envelope: Envelope.self)
        }
    }

    static func user(_ provider: Provider) async throws -> User {
        try await provider.client.value(API.Users.info)
    }

    // A query with a list: ids=1&ids=2&ids=3
    static func deleted(_ provider: Provider) async throws -> String {
        try await provider.client.value(API.Articles.delete(ids: [1, 2, 3])).target
    }

    // The list in other styles: ids[]=1&ids[]=2, or ids=1,2
    static func listStyles() -> [String] {
        [URLQuery.ArrayStyle.brackets, .commas].map { style in
            var query = URLQuery()
            query.set("ids", [1, 2], style: style)
            return query.encoded
        }
    }

    // TimeoutPlugin: a timeout for one call
    static func impatient(_ provider: Provider) async throws {
        try await provider.client.get("/slow", timeout: .milliseconds(50)) { $0.retry = .off }
    }

    // Default mode: JSON without a type
    static func json(_ provider: Provider) async throws -> (String, Int) {
        let user = try await provider.client.json("/envelope/user")
        return (user.name.stringValue ?? "", user.id.intValue ?? 0)
    }

    // MARK: - Errors

    // do, catch: an error of the server, no connection, and all other errors, each with a text for people
    static func message(_ call: () async throws -> Void) async -> String {
        do {
            try await call()
            return "fine"
        } catch let error as ServiceError {
            return "server error \(error.code): \(error.localizedDescription)"
        } catch let error where error.isConnectivityError {
            return "Please check your connection."
        } catch let error as any RequestFailure {
            return error.localizedDescription
        } catch {
            return "cancelled, or a mistake of this app: \(error)"
        }
    }

    // errorCode: a number for each kind of failure
    static func code(of error: any Error) -> Int {
        switch error {
        case let error as ServiceError: error.code.number ?? -1
        case let error as any RequestFailure: error.response?.status.code ?? (error.isTimeout ? -1001 : -1)
        default: -999
        }
    }

    // Central mapping: every call of the app goes through one function
    struct NotAllowed: Error {}

    static func mapped<Value>(_ endpoint: Endpoint<Value>, by provider: Provider) async throws -> Value {
        do {
            return try await provider.client.value(endpoint)
        } catch let error as ServiceError where error.code == 1001 {
            throw NotAllowed()
        }
    }

    // Several targets: one transport, several servers
    static func targets(api: URL, images: URL) -> (api: APIClient, images: APIClient) {
        let shared = HTTPStack.default.retry().timeout(.seconds(20))
        return (APIClient(shared.server(api)), APIClient(shared.server(images)))
    }

    // Polling: the same call until the work is done
    struct Job: Decodable, Sendable { var state: String }

    static func finished(_ server: URL) async throws -> String {
        let client = APIClient(HTTPStack.default.server(server))
        return try await client.poll(Endpoint<Job>.post("/jobs"), policy: PollingPolicy(backoff: .constant(.milliseconds(10)))) {
            $0.value.state == "done"
        }.value.state
    }

    // The request is sent again until the app accepts the response
    static func ready(_ server: URL) async throws -> Int {
        let untilReady = RetryPolicy(maxAttempts: 5, backoff: .constant(.milliseconds(10))).deciding { attempt in
            if case .success(let head) = attempt.result, head.status != .ok { return .retry }
            return .byPolicy
        }
        return try await APIClient(HTTPStack.default.retry(untilReady).server(server))
            .response(Endpoint<Void>.get("/busy")).metadata.attempts.count
    }
}
