import Errand
import ErrandNIO
import Foundation
import Synchronization

/// Runs the definitions of the suite for caches against a server that plays them.
struct CacheTestRun: Sendable {
    /// The result of a test, in the form of the suite.
    enum Outcome: Equatable {
        case passed
        /// A check of the preparation did not hold: the test says nothing about the cache.
        case setup(String)
        /// A check did not hold.
        case assertion(String)
        /// There was no response, or the test could not run.
        case error(String)

        var json: JSONValue {
            switch self {
            case .passed: true
            case .setup(let message): ["Setup", JSONValue(message)]
            case .assertion(let message): ["Assertion", JSONValue(message)]
            case .error(let message): ["<error>", JSONValue(message)]
            }
        }
    }

    /// The number of tests that run at the same time. Most of their time is pauses.
    static let width = 50

    let base: String
    /// Puts a cache with an empty store around a transport.
    let cached: @Sendable (HTTPStack) async throws -> HTTPStack
    /// The user whose cache is tested, for tests with `Cookie`; `nil` for a shared cache. As in an app, a private cache uses a stored
    /// response for a request with `Cookie` only if the request names its user.
    var user: CredentialIdentity?

    /// Runs tests, and returns the outcome of each, and the tests in which a lost connection was turned into a response.
    func outcomes(of tests: [CacheTest]) async throws -> (outcomes: [String: Outcome], synthetic: [String]) {
        try await withTransport(NIOTransport()) { control in
            try await withThrowingTaskGroup(of: (String, Outcome, isSynthetic: Bool).self) { group in
                var (rest, outcomes, synthetic) = (tests[...], [String: Outcome](), [String]())
                func begin() {
                    guard let test = rest.popFirst() else { return }
                    group.addTask { try await run(test, control) }
                }
                for _ in 0..<Self.width { begin() }
                while let (id, outcome, isSynthetic) = try await group.next() {
                    outcomes[id] = outcome
                    if isSynthetic { synthetic.append(id) }
                    begin()
                }
                return (outcomes, synthetic.sorted())
            }
        }
    }

    /// - Throws: `CancellationError`.
    private func run(_ test: CacheTest, _ control: NIOTransport) async throws -> (String, Outcome, isSynthetic: Bool) {
        let isSynthetic = Atomic(false)
        do {
            // A body with a wrong length leaves octets in a connection: no two tests share a connection.
            try await withTransport(NIOTransport()) { transport in
                try await run(test, control, try await cached(HTTPStack(transport)).redirect(), isSynthetic)
            }
            return (test.id, .passed, isSynthetic.load(ordering: .relaxed))
        } catch is CancellationError {
            throw CancellationError()
        } catch {
            let outcome: Outcome =
                switch error {
                case let failure as CacheTestFailure: failure.isSetup ? .setup(failure.message) : .assertion(failure.message)
                case let failure as any RequestFailure: .error(failure.description)
                default: .error("\(error)")
                }
            return (test.id, outcome, isSynthetic.load(ordering: .relaxed))
        }
    }

    private func run(
        _ test: CacheTest, _ control: NIOTransport, _ stack: HTTPStack, _ isSynthetic: borrowing Atomic<Bool>
    ) async throws {
        let uuid = UUID().uuidString.lowercased()
        let configuration = RequestBody.data(Data(test.configuration.description.utf8), contentType: "application/json")
        let configured = try await control.send(Request(.put, url: "\(base)/config/\(uuid)", body: configuration))
        let answer = try await configured.body.collect()
        guard configured.status == .created else {
            let reason = String(decoding: answer, as: UTF8.self)
            throw CacheTestFailure(isSetup: true, message: "the server refused the configuration: \(reason)")
        }
        var (responses, serverNow) = ([CacheTestResponse](), Int64?.none)
        for definition in test.requests {
            var request = try definition.request(base: base, test: test, uuid: uuid, serverNow: serverNow)
            if test.hasCookie { request.options.credentialIdentity = user }
            let response = try await response(to: request, definition, stack)
            if response.isSynthetic { isSynthetic.store(true, ordering: .relaxed) }
            try definition.check(response, uuid: uuid)
            serverNow = response.number(of: "Server-Now").map(Int64.init)
            responses.append(response)
            if let pause = definition.pause { try await Task.sleep(for: pause) }
        }
        try checkRequests(of: test, responses, try await state(uuid, control))
    }

    private func response(to request: Request, _ definition: CacheTestRequest, _ stack: HTTPStack) async throws -> CacheTestResponse {
        let interim = InterimResponses()
        var request = request
        request.options.eventSink = interim
        do {
            let response = try await stack.send(request)
            let body = try await response.body.collect()
            return CacheTestResponse(
                status: response.status.code, fields: response.headers, body: String(decoding: body, as: UTF8.self), interim: interim.heads)
        } catch let error as TransportError where definition.isCutOff && error.code != .timedOut {
            // The definitions expect a response. A proxy sends a 504, and a client throws.
            return CacheTestResponse(status: 504, fields: [:], body: "", interim: interim.heads, isSynthetic: true)
        }
    }

    /// Returns the requests that the server got, in the order of their arrival.
    private func state(_ uuid: String, _ control: NIOTransport) async throws -> [JSONValue] {
        let response = try await control.send(Request(.get, url: "\(base)/state/\(uuid)"))
        let body = try await response.body.collect()
        return response.status == .ok ? try JSONDecoder().decode([JSONValue].self, from: body) : []
    }

    /// Compares the requests that the server got with the requests that it was to get.
    func checkRequests(of test: CacheTest, _ responses: [CacheTestResponse], _ state: [JSONValue]) throws(CacheTestFailure) {
        var entries = state[...]
        for (definition, response) in zip(test.requests, responses) where definition.expectedType != "cached" {
            guard let entry = entries.popFirst() else { return }
            try definition.check(entry, response)
        }
    }
}

/// Keeps the informational responses of an exchange.
private final class InterimResponses: EventSink, Sendable {
    private let state = Mutex<[HTTPResponse]>([])

    var heads: [HTTPResponse] { state.withLock { $0 } }

    func record(_ event: ExchangeEvent) {
        guard event.kind == .informationalResponse, let head = event.response else { return }
        state.withLock { $0.append(head) }
    }
}
