internal import ErrandCore
internal import Foundation
internal import Testing

@testable internal import ErrandURLSession

#if canImport(FoundationNetworking)
internal import FoundationNetworking
#endif

@Suite struct SessionPlanTests {
    struct Row: Sendable, CustomTestStringConvertible {
        let name: String
        var method = "GET"
        var body = RequestBody.empty
        var bytes: Data?
        var hasStream = false
        var decides = false
        var scheme = "https"
        /// Whether the task has a session of its own, on Linux and on Apple's platforms.
        let owns: (linux: Bool, apple: Bool)
        let reportsSentBytes: Bool

        var testDescription: String { name }
    }

    private static func stream(length: Int64?) -> RequestBody {
        .stream(length: length) { _ in throw CancellationError() }
    }

    static let rows = [
        Row(name: "no body", owns: (false, false), reportsSentBytes: false),
        Row(name: "no body, not idempotent", method: "POST", owns: (true, false), reportsSentBytes: false),
        Row(name: "bytes", method: "POST", bytes: Data("x".utf8), owns: (false, false), reportsSentBytes: true),
        Row(name: "no bytes", method: "POST", bytes: Data(), owns: (true, false), reportsSentBytes: false),
        Row(
            name: "a stream with a length", method: "PUT", body: stream(length: 7), hasStream: true, owns: (true, false),
            reportsSentBytes: true),
        Row(
            name: "a stream without a length", method: "PUT", body: stream(length: nil), hasStream: true, owns: (true, false),
            reportsSentBytes: false),
        Row(name: "a request that decides about the server", decides: true, owns: (true, true), reportsSentBytes: false),
        Row(
            name: "a request that decides, without TLS", decides: true, scheme: "http", owns: (false, false), reportsSentBytes: false),
    ]

    @Test(arguments: rows) func theRequestDecidesAboutItsSession(_ row: Row) throws {
        var request = try Request(try #require(HTTPRequest.Method(row.method)), url: "\(row.scheme)://a.example/x")
        request.body = row.body
        if row.decides { request.options.onServerTrust = { _ in .systemVerdict } }
        var sent = try URLRequest(headOf: request)
        sent.httpBody = row.bytes
        for (abilities, owns) in [(SessionAbilities.linux, row.owns.linux), (.apple, row.owns.apple)] {
            for isChanged in [false, true] {
                let plan = SessionPlan(for: request, sending: sent, hasStream: row.hasStream, isChanged: isChanged, abilities: abilities)
                #expect(plan.ownsSession == owns && plan.rules.reportsSentBytes == row.reportsSentBytes)
                #expect((plan.rules.decidedServer != nil) == (row.decides && row.scheme == "https"))
                #expect(plan.rules.canSuspend == abilities.canSuspend && plan.rules.notes == (isChanged ? [.requestChanged] : []))
            }
        }
    }
}
