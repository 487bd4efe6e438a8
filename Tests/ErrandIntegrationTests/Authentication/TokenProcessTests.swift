#if SWIFT_NIO && Auth && MockServer
internal import Errand
internal import ErrandMockServer
internal import ErrandTesting
internal import Foundation
internal import Synchronization
internal import TestSupport
internal import Testing

/// Real processes share the file of a token, and are killed while they refresh it: 20 of them, or as many as `ERRAND_TOKEN_KILLS` says.
///
/// The processes are this very program, which runs ``TokenProcess`` alone.
@Suite(.timeLimit(.minutes(30))) struct TokenProcessTests {
    private static let kills = ProcessInfo.processInfo.environment["ERRAND_TOKEN_KILLS"].flatMap { Int($0) } ?? 20
    private static let processCount = 3

    @Test(.enabled(if: OwnProgram.isKnown, "the path of this program is known on Linux alone"))
    func aKilledProcessKeepsSessionsAndAccountsSeparate() async throws {
        let folder = try TestFolder("token-processes")
        let path = folder.file("token.json")
        let server = AccountServer()
        try await withMockServer { mock in
            mock.dispatch { try await server.respond(to: $0) }
            let here = TokenSource(store: FileTokenStore(atPath: path)) { _ in throw CancellationError() }
            try await here.signIn(server.newAccount())
            var children: [String: Process] = [:]
            defer { for child in children.values { OwnProgram.kill(child) } }
            let random = SeededRandom(seed: 36)
            var started = 0
            func startMissing() throws {
                while children.count < Self.processCount {
                    started += 1
                    children["p\(started)"] = try Self.start("p\(started)", at: mock.url("/"), path)
                }
            }
            for kill in 1...Self.kills {
                try startMissing()
                let victim = children.keys.sorted()[Int(random.next() * Double(children.count)) % children.count]
                let moment = AccountServer.Moment.allCases[kill % AccountServer.Moment.allCases.count]
                server.state.change { $0.target = (victim, moment, false) }
                if kill % 4 == 0 { try await here.signIn(server.newAccount()) }
                try await server.state.wait("\(victim) to refresh", upTo: .seconds(120)) {
                    $0.target?.isReached == true || !$0.problems.isEmpty
                }
                // The response is on its way by then, or not yet sent.
                if moment == .afterResponse { for _ in 0..<Int(random.next() * 2_000) { await Task.yield() } }
                let process = try #require(children[victim])
                children[victim] = nil
                OwnProgram.kill(process)
                process.waitUntilExit()
                server.state.change { $0.target = nil }
                #expect(server.state.value.problems.isEmpty, "\(server.state.value.problems.prefix(5))")
                guard server.state.value.problems.isEmpty else { return }
            }
            // All of them still work, with the account that has signed in last.
            try startMissing()
            let names = Set(children.keys)
            let account = server.state.value.accounts
            try await server.state.wait("all processes to use the last account", upTo: .seconds(120)) { state in
                names.allSatisfy { state.latest[$0] == account }
            }
            // Signing out wins over whatever they are doing.
            try await here.signOut()
            try await server.state.wait("all processes to sign out", upTo: .seconds(120)) { $0.signedOut.isSuperset(of: names) }
            for child in children.values { child.waitUntilExit() }
            #expect(!FileManager.default.fileExists(atPath: path))
            #expect(server.state.value.problems.isEmpty, "\(server.state.value.problems.prefix(5))")
            #expect(server.state.value.refreshes >= Self.kills)
        }
    }

    private static func start(_ name: String, at base: String, _ path: String) throws -> Process {
        try OwnProgram.start(
            test: "TokenProcess/worksUntilSignedOut", environment: ["ERRAND_TOKEN_PROCESS": "\(name) \(base) \(path)"])
    }
}

/// What the other processes do. Elsewhere it does nothing.
@Suite struct TokenProcess {
    @Test func worksUntilSignedOut() async throws {
        guard let words = ProcessInfo.processInfo.environment["ERRAND_TOKEN_PROCESS"]?.split(separator: " ").map(String.init) else {
            return
        }
        let (name, base, path) = (words[0], words[1], words[2])
        try await withTransport(NIOTransport()) { transport in
            let plain = transport.timeout(.seconds(30))
            let oauth = OAuthClient(OAuthServer(tokenEndpoint: base + "token"), clientID: name, via: plain)
            let tokens = TokenSource(
                oauth, store: FileTokenStore(atPath: path), policy: RefreshPolicy(leadTime: .zero, limit: 100_000))
            let stack = plain.authenticate(.bearer(tokens))
            for call in 1... {
                do {
                    let response = try await stack.send(Request(.get, url: base + "me?process=\(name)&call=\(call)"))
                    _ = try await response.body.collect()
                } catch let error as AuthenticationError where error.code == .accountChanged {
                    continue
                } catch let error as AuthenticationError where error.code == .signedOut {
                    _ = try await plain.send(Request(.get, url: base + "out?process=\(name)"))
                    return
                } catch let error as TransportError {
                    throw error  // the test has ended
                } catch {
                    let text = "\(error)".filter { $0.isLetter || $0.isNumber }
                    _ = try await plain.send(Request(.get, url: base + "problem?process=\(name)&what=\(text)"))
                    return
                }
            }
        }
    }
}

/// A server of several accounts. It replaces refresh tokens, and takes one for the second time only as long as no token that
/// replaced it was used: its response may be lost.
///
/// The tokens are `1-0`, `1-1`, …: the account and a number.
private final class AccountServer: Sendable {
    /// When a process is killed.
    enum Moment: CaseIterable, Sendable { case beforeRotation, beforeResponse, afterResponse }

    struct Account: Sendable {
        var number = 0
        var uses = 0
        var isUsed = true
        var hasExpired = false
        /// The refresh token that was used last.
        var previous = 0
    }

    struct State: Sendable {
        var accounts = 0
        var byNumber: [Int: Account] = [:]
        var target: (process: String, moment: Moment, isReached: Bool)?
        var refreshes = 0
        /// The account of the last request of each process, and of each call.
        var latest: [String: Int] = [:]
        var calls: [String: Int] = [:]
        var signedOut: Set<String> = []
        var problems: [String] = []
    }

    let state = Watched(State())

    func newAccount() -> AccessToken {
        state.change { state in
            state.accounts += 1
            state.byNumber[state.accounts] = Account()
        }
        let token = "\(state.value.accounts)-0"
        return AccessToken(token, refreshToken: token)
    }

    func respond(to request: IncomingRequest) async throws -> MockResponse? {
        switch request.path {
        case "/me": me(request)
        case "/token": try await token(request)
        case "/out": note(request) { $0.signedOut.insert($1) }
        case "/problem": note(request) { $0.problems.append("\($1): \(request.head.path ?? "")") }
        default: nil
        }
    }

    private func note(_ request: IncomingRequest, _ body: @Sendable (inout State, String) -> Void) -> MockResponse {
        let name = Self.value("process", of: request.head.path ?? "")
        state.change { body(&$0, name) }
        return .text("noted")
    }

    private static func value(_ name: String, of text: String) -> String {
        let items = text.split(whereSeparator: { "?&".contains($0) })
        return items.first { $0.hasPrefix(name + "=") }.map { String($0.dropFirst(name.count + 1)) } ?? ""
    }

    private static func parts(_ token: String) -> (account: Int, number: Int) {
        let parts = token.split(separator: "-").map { Int($0) ?? -1 }
        return parts.count == 2 ? (parts[0], parts[1]) : (-1, -1)
    }

    private func me(_ request: IncomingRequest) -> MockResponse {
        let (name, call) = (Self.value("process", of: request.head.path ?? ""), Self.value("call", of: request.head.path ?? ""))
        let sent = request.headers[.authorization].map { String($0.dropFirst("Bearer ".count)) } ?? ""
        let (account, number) = Self.parts(sent)
        let isAccepted = Mutex(false)
        state.change { state in
            if let other = state.calls["\(name) \(call)"], other != account {
                state.problems.append("call \(call) of \(name) has tokens of the accounts \(other) and \(account)")
            }
            state.calls["\(name) \(call)"] = account
            if let last = state.latest[name], last > account {
                state.problems.append("\(name) has gone back from account \(last) to \(account)")
            }
            state.latest[name] = account
            guard var known = state.byNumber[account] else { return state.problems.append("unknown token '\(sent)'") }
            if known.number == number, !known.hasExpired {
                known.isUsed = true
                known.uses += 1
                known.hasExpired = known.uses % 4 == 0
                isAccepted.withLock { $0 = true }
            }
            state.byNumber[account] = known
        }
        return isAccepted.withLock { $0 }
            ? .text("me") : .status(.unauthorized, headers: [.wwwAuthenticate: #"Bearer error="invalid_token""#])
    }

    private func token(_ request: IncomingRequest) async throws -> MockResponse {
        let form = String(decoding: try await request.body(), as: UTF8.self)
        let (name, sent) = (Self.value("client_id", of: form), Self.value("refresh_token", of: form))
        try await reach(.beforeRotation, name)
        let (account, number) = Self.parts(sent)
        let new = Mutex<String?>(nil)
        state.change { state in
            state.refreshes += 1
            guard var known = state.byNumber[account], number == known.number || (number == known.previous && !known.isUsed) else {
                return state.problems.append("\(name) has used '\(sent)' again: \(state.byNumber[account] as Any)")
            }
            (known.previous, known.number, known.isUsed, known.hasExpired) = (number, known.number + 1, false, false)
            state.byNumber[account] = known
            new.withLock { $0 = "\(account)-\(known.number)" }
        }
        guard let token = new.withLock({ $0 }) else { return .data(Data(#"{"error": "invalid_grant"}"#.utf8), status: .badRequest) }
        try await reach(.beforeResponse, name)
        state.change { if $0.target?.process == name, $0.target?.moment == .afterResponse { $0.target?.isReached = true } }
        return .data(
            Data(#"{"access_token": "\#(token)", "refresh_token": "\#(token)", "token_type": "Bearer"}"#.utf8),
            headers: [.contentType: "application/json"])
    }

    /// Waits for the death of the process, if this is its moment.
    private func reach(_ moment: Moment, _ name: String) async throws {
        guard let target = state.value.target, target.process == name, target.moment == moment else { return }
        state.change { $0.target?.isReached = true }
        try await state.wait("the death of \(name)") { $0.target == nil }
        throw CancellationError()
    }
}
#endif
