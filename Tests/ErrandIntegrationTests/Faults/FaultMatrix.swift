#if MockServer && SWIFT_NIO
import Errand
import ErrandMockServer
import Foundation
import TestSupport
import Testing

/// One exchange with a fault: the fault, its point, and the messages.
struct FaultRow: Sendable, CustomStringConvertible {
    let fault: Fault
    let point: FaultPoint
    let method: HTTPRequest.Method
    let isChunked: Bool

    var description: String { "\(fault) at \(point), \(method.rawValue)\(isChunked ? ", chunked" : "")" }

    /// Each fault at each point, for both methods; behind the head, with both ways to tell where a body ends.
    static func all(_ faults: [Fault]) -> [FaultRow] {
        faults.flatMap { fault in
            FaultPoint.all.flatMap { point in
                [HTTPRequest.Method.get, .post].flatMap { method in
                    let framings = point == .responseBody || point == .responseEnd ? [false, true] : [false]
                    return framings.map { FaultRow(fault: fault, point: point, method: method, isChunked: $0) }
                }
            }
        }
    }

    /// Runs `check` for each row with what is expected of it. Rows that end at their deadline do little but wait, so they are in progress
    /// all at once, beside the others.
    static func checkAll(
        _ rows: [FaultRow], expecting expectation: @escaping @Sendable (FaultRow) -> FaultExpectation,
        _ check: @escaping @Sendable (FaultRow, FaultExpectation) async throws -> Void
    ) async {
        let waiting = rows.filter { expectation($0).code == .timedOut }
        async let late: Void = concurrently(waiting, atATime: waiting.count) { try await check($0, expectation($0)) }
        await concurrently(rows.filter { expectation($0).code != .timedOut }, atATime: 4) { try await check($0, expectation($0)) }
        await late
    }

    static let requestBody = Data.seeded(200_000, seed: 7)
    static let responseBody = Data.seeded(100_000, seed: 8)

    var response: MockResponse {
        let chunks = stride(from: 0, to: Self.responseBody.count, by: 10_000).map { Data(Self.responseBody.dropFirst($0).prefix(10_000)) }
        return (isChunked ? MockResponse.chunks(chunks) : .data(Self.responseBody)).fault(fault, at: point)
    }

    func request(_ url: String, deadline: Duration) throws -> Request {
        try Request(method, url: url, body: method == .post ? .data(Self.requestBody) : .empty).within(deadline)
    }
}

/// How an exchange ended, for whoever waited for it.
enum FaultOutcome: Sendable, CustomStringConvertible {
    case whole
    /// A body that was reported as complete, and differs from the sent body.
    case wrongBody(bytes: Int)
    case failure(TransportError, received: Int)
    case other(String)

    var description: String {
        switch self {
        case .whole: "whole"
        case .wrongBody(let bytes): "a wrong body of \(bytes) bytes"
        case .failure(let failure, let received):
            "\(failure.code) in \(failure.phase), \(failure.delivery), after \(received) bytes: \(failure.message)"
        case .other(let text): text
        }
    }

    var isWhole: Bool {
        if case .whole = self { true } else { false }
    }

    /// Sends, and reads to the end.
    static func of(_ request: Request, by transport: some HTTPSender) async -> FaultOutcome {
        var received = Data()
        do {
            let response = try await transport.send(request)
            for try await chunk in response.body { received.append(chunk) }
            let isWhole = received == FaultRow.responseBody
            return isWhole ? .whole : .wrongBody(bytes: received.count)
        } catch let failure as TransportError {
            let isPrefix = received == FaultRow.responseBody.prefix(received.count)
            return isPrefix ? .failure(failure, received: received.count) : .wrongBody(bytes: received.count)
        } catch {
            return .other("\(error)")
        }
    }
}

/// Runs `body` for each element, so many at a time. What it throws is an issue that names the element.
func concurrently<Element: Sendable>(
    _ elements: [Element], atATime limit: Int = 16, _ body: @escaping @Sendable (Element) async throws -> Void
) async {
    await withTaskGroup(of: Void.self) { group in
        for (index, element) in elements.enumerated() {
            if index >= limit { await group.next() }
            group.addTask {
                do {
                    try await body(element)
                } catch {
                    Issue.record("\(element): \(error)")
                }
            }
        }
    }
}
#endif
