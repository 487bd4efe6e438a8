import ErrandCore
import TestSupport
import Testing

@testable import ErrandTransfers

@Suite(.timeLimit(.minutes(5))) struct DownloadMachineTests {
    private typealias Action = DownloadMachine.Action
    private typealias Event = DownloadMachine.Event

    private static let now = HTTPDate(secondsSinceEpoch: 1_800_000_000)

    private static func machine(
        maxFailures: Int = 2, changedContent: DownloadOptions.Fallback = .startAgain, limitBytes: Int64? = nil
    ) -> DownloadMachine {
        DownloadMachine(
            policy: TransferPolicy(maxFailures: maxFailures, backoff: .constant(.seconds(2)), jitter: .none),
            changedContent: changedContent,
            limitBytes: limitBytes)
    }

    private static func record(
        _ bytes: Int64, total: Int64? = 100, validator: String? = "\"a\"", digest: IntegrityDigest? = nil
    ) -> DownloadResumption {
        var record = DownloadResumption(fileName: "file")
        (record.bytes, record.total, record.validator, record.digest) = (bytes, total, validator, digest)
        return record
    }

    private static func head(_ status: Int, _ fields: HTTPFields = [:], length: Int64? = nil) -> Event {
        let response = HTTPResponse(status: HTTPResponse.Status(code: status), headerFields: fields)
        let isAccepted = (200..<300).contains(status)
        return .head(DownloadRule.Head(response: response, bodyLength: length, isDecoded: false, isAccepted: isAccepted), at: now)
    }

    private static func whole(_ length: Int64? = 100, _ fields: HTTPFields = [.eTag: "\"a\""]) -> Event {
        head(200, fields, length: length)
    }

    /// The part from an offset to the end of 100 bytes.
    private static func part(_ start: Int64, to end: Int64 = 100, tag: String = "\"a\"") -> Event {
        head(206, [.eTag: tag, .contentRange: "bytes \(start)-\(end - 1)/100"], length: end - start)
    }

    private static func failure(_ code: TransportError.Code = .connectionLost) -> Event {
        .failure(TransportError(code, phase: .body, message: "cut", delivery: .sent), random: 0)
    }

    private static let rest = DownloadRange(offset: 40, validator: "\"a\"")
    private static let digest = IntegrityDigest(.sha256, octets: Array(repeating: 7, count: 32))
    private static let otherDigest = IntegrityDigest(.sha256, octets: Array(repeating: 8, count: 32))
    private static let digestField = "sha-256=:\(Data(repeating: 7, count: 32).base64EncodedString()):"

    private struct Row: Sendable, CustomTestStringConvertible {
        let testDescription: String
        let machine: DownloadMachine
        let steps: [(Event, Action)]

        init(_ name: String, _ machine: DownloadMachine, _ steps: [(Event, Action)]) {
            (testDescription, self.machine, self.steps) = (name, machine, steps)
        }

        init(_ name: String, _ steps: [(Event, Action)]) { self.init(name, DownloadMachineTests.machine(), steps) }
    }

    private static let fresh: [(Event, Action)] = [(.ready(record(0, total: nil, validator: nil)), .send(nil))]
    private static let begun: [(Event, Action)] = fresh + [(whole(), .write(from: 0, to: 100, record: record(0)))]
    private static let resumed: [(Event, Action)] = [(.ready(record(40)), .send(rest))]
    private static let continued: [(Event, Action)] = resumed + [(part(40), .write(from: 40, to: 100, record: record(40)))]

    private static let rows: [Row] = [
        // Heads and bodies.
        Row("a whole content", begun + [(.bytes(99), .read), (.bytes(1), .read), (.end, .publish(bytes: 100))]),
        Row("an empty content", fresh + [(whole(0), .write(from: 0, to: 0, record: record(0, total: 0))), (.end, .publish(bytes: 0))]),
        Row("a part", continued + [(.bytes(60), .read), (.end, .publish(bytes: 100))]),
        Row(
            "a part of a part",
            resumed + [
                (part(40, to: 50), .write(from: 40, to: 50, record: record(40))), (.bytes(10), .read), (.end, .sendAgain),
                (.ready(record(50)), .send(DownloadRange(offset: 50, validator: "\"a\""))),
            ]),
        Row(
            "a content without a length",
            fresh + [
                (whole(nil), .write(from: 0, to: nil, record: record(0, total: nil))), (.bytes(7), .read), (.end, .publish(bytes: 7)),
            ]),
        Row(
            "all bytes of an unknown total",
            [
                (.ready(record(40, total: nil)), .send(rest)), (head(416, [.contentRange: "bytes */40"]), .publish(bytes: 40)),
            ]),
        Row("an error page", resumed + [(head(404), .refuse)]),
        Row("a part that was not requested", fresh + [(part(0), .fail(.unusablePart, DownloadDecision.Reason.notRequested.rawValue))]),
        Row("a long body", begun + [(.bytes(101), .fail(.unusablePart, "the body is longer than the head of the response says"))]),
        Row("a short body", continued + [(.bytes(59), .read), (.end, .reportLoss("the body ended after 59 bytes of 60 bytes"))]),
        Row("a long content", machine(limitBytes: 99), fresh + [(whole(), .fail(.tooLarge, "the content has more than 99 bytes"))]),
        Row(
            "a long body without a length", machine(limitBytes: 99),
            fresh + [
                (whole(nil), .write(from: 0, to: nil, record: record(0, total: nil))), (.bytes(99), .read),
                (.bytes(1), .fail(.tooLarge, "the content has more than 99 bytes")),
            ]),
        // Another content.
        Row(
            "a changed content",
            resumed + [(whole(70, [.eTag: "\"b\""]), .write(from: 0, to: 70, record: record(0, total: 70, validator: "\"b\"")))]),
        Row(
            "a changed content, by option", machine(changedContent: .fail),
            resumed + [(whole(), .fail(.changed, "the server sent the whole content"))]),
        Row(
            "a part of another content",
            resumed + [
                (part(40, tag: "\"b\""), .sendAgain), (.ready(record(40)), .send(nil)),
                (whole(), .write(from: 0, to: 100, record: record(0))), (failure(), .wait(.seconds(2))),
                // After a whole content, the next request asks for a part again.
                (.ready(record(40)), .send(rest)),
            ]),
        Row(
            "a part of another content, by option", machine(changedContent: .fail),
            resumed + [(part(40, tag: "\"b\""), .fail(.changed, DownloadDecision.Reason.anotherValidator.rawValue))]),
        Row(
            "a range that does not exist",
            resumed + [(head(416, [.contentRange: "bytes */30"]), .sendAgain), (.ready(record(40)), .send(nil))]),
        Row(
            "a failure before the whole content",
            resumed + [
                (part(41), .sendAgain), (.ready(record(40)), .send(nil)), (failure(), .wait(.seconds(2))), (.ready(record(40)), .send(nil)),
            ]),
        Row(
            "a pause before the whole content",
            resumed + [(part(41), .sendAgain), (.ready(record(40)), .send(nil)), (.paused, .sendAgain), (.ready(record(40)), .send(nil))]),
        Row(
            "a content that always changes",
            resumed
                + (0..<TransferBudget.maxRestarts).flatMap { _ -> [(Event, Action)] in
                    [(whole(nil), .write(from: 0, to: nil, record: record(0, total: nil))), (.bytes(40), .read), (.paused, .sendAgain)]
                        + [(.ready(record(40)), .send(rest))]
                } + [(whole(nil), .fail(.changed, "the server sent the whole content"))]),
        // Failures and pauses.
        Row("a cut", continued + [(failure(), .wait(.seconds(2))), (.ready(record(40)), .send(rest))]),
        Row("a failure before the head", resumed + [(failure(.cannotConnect), .wait(.seconds(2))), (.ready(record(40)), .send(rest))]),
        Row(
            "no progress",
            resumed + [(failure(), .wait(.seconds(2))), (.ready(record(40)), .send(rest)), (failure(), .wait(.seconds(2)))]
                + [(.ready(record(40)), .send(rest)), (failure(), .rethrow)]),
        Row(
            "progress", machine(maxFailures: 1),
            fresh
                + (0..<5).flatMap { _ -> [(Event, Action)] in
                    [
                        (whole(nil), .write(from: 0, to: nil, record: record(0, total: nil))), (.bytes(65_536), .read),
                        (failure(), .wait(.seconds(2))),
                    ]
                        + [(.ready(record(0, total: nil, validator: nil)), .send(nil))]
                } + [(failure(), .rethrow)]),
        Row("a busy server", resumed + [(head(503), .refuse)]),
        Row("a failure that lasts", resumed + [(failure(.tls), .rethrow)]),
        Row("an error of the machine", begun + [(.failure(TransferError(.noSpace, "full"), random: 0), .rethrow)]),
        Row("a cancellation", begun + [(.failure(CancellationError(), random: 0), .rethrow)]),
        Row(
            "a pause in a body",
            continued + [
                (.bytes(10), .read), (.paused, .sendAgain), (.ready(record(50)), .send(DownloadRange(offset: 50, validator: "\"a\""))),
            ]),
        Row("a pause before the head", resumed + [(.paused, .sendAgain), (.ready(record(40)), .send(rest))]),
        // Digests.
        Row(
            "a right digest",
            fresh + [
                (whole(5, [.reprDigest: digestField]), .write(from: 0, to: 5, record: record(0, total: 5, validator: nil, digest: digest))),
                (.bytes(5), .read), (.end, .verify(digest!, bytes: 5)), (.digest(digest), .publish(bytes: 5)),
            ]),
        Row(
            "a wrong digest",
            [
                (.ready(record(40, total: nil, digest: digest)), .send(rest)),
                (head(416, [.contentRange: "bytes */40"]), .verify(digest!, bytes: 40)),
                (.digest(otherDigest), .reject("expected \(digest!), got \(otherDigest!)")),
                (.failure(TransferError(.digestMismatch, "wrong"), random: 0), .rethrow),
            ]),
        Row(
            "a library without digests",
            [
                (.ready(record(40, total: nil, digest: digest)), .send(rest)),
                (head(416, [.contentRange: "bytes */40"]), .verify(digest!, bytes: 40)), (.digest(nil), .publish(bytes: 40)),
            ]),
    ]

    @Test(arguments: rows) private func eachEventHasAnAction(_ row: Row) {
        var machine = row.machine
        for (number, (event, action)) in row.steps.enumerated() {
            let actual = machine.handle(event)
            #expect(actual == action, "\(row.testDescription), step \(number + 1)")
        }
    }
    @Test(arguments: [(503, .wait(.seconds(2))), (404, .rethrow), (200, .rethrow)] as [(Int, DownloadMachine.Action)])
    func thePolicyJudgesAStatus(_ status: Int, _ action: DownloadMachine.Action) async throws {
        var machine = Self.machine()
        _ = machine.handle(.ready(Self.record(40)))
        let head = HTTPResponse(status: HTTPResponse.Status(code: status))
        let response = Response(head: head, body: ResponseBody(), request: try get("/"), exchange: ExchangeLifetime())
        let error = try await StatusError(reading: response)
        let actual = machine.handle(.failure(error, random: 0))
        #expect(actual == action)
    }
}
