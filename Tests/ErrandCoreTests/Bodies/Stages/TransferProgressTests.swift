import Errand
import ErrandTesting
import Foundation
import TestSupport
import Testing

@Suite(.timeLimit(.minutes(5))) struct TransferProgressTests {
    private let clock = ManualClock()
    private let reports = RecordingList<TransferProgress>()

    /// As many chunks of ten bytes, one every 30 ms.
    private func paced(_ count: Int) -> ScriptedBodySource {
        ScriptedBodySource(
            steps: (0..<count).map { _ in
                { [clock] in
                    clock.advance(by: .milliseconds(30))
                    return Data(count: 10)
                }
            })
    }

    private func values(_ bytes: [Int64], of total: Int64?) -> [TransferProgress] {
        bytes.map { TransferProgress(bytes: $0, total: total) }
    }

    @Test func progressIsReportedAtMostEveryHundredMilliseconds() async throws {
        let body = ResponseBody(paced(10), expectedLength: 100).reportingProgress(clock: clock, reports.record)
        #expect(reports.all == values([0], of: 100))
        #expect(try await body.collect().count == 100)
        #expect(reports.all == values([0, 40, 80, 100], of: 100))
    }

    @Test func progressIsReportedAtTheGivenInterval() async throws {
        let each = ResponseBody(paced(3), expectedLength: 30).reportingProgress(every: .zero, clock: clock, reports.record)
        _ = try await each.collect()
        #expect(reports.all == values([0, 10, 20, 30], of: 30))
    }

    @Test func theTotalOfABodyWithoutALengthIsKnownAtTheEnd() async throws {
        _ = try await ResponseBody(paced(5)).reportingProgress(clock: clock, reports.record).collect()
        #expect(reports.all == values([0, 40], of: nil) + values([50], of: 50))
        #expect(reports.all.map(\.fraction) == [nil, nil, 1])
    }

    @Test func aBrokenBodyReportsItsProgress() async throws {
        let source = ScriptedBodySource(["one", "two"], then: .failure(TestError()))
        let body = ResponseBody(source, expectedLength: 12).reportingProgress(clock: clock, reports.record)
        await #expect(throws: TestError.self) { try await body.collect() }
        #expect(reports.all == values([0, 6], of: 12))
    }

    @Test func progressOfBytesInMemoryIsReportedDuringReading() async throws {
        let body = ResponseBody(Data("hello".utf8)).reportingProgress(clock: clock, reports.record)
        #expect(body.bufferedData == Data("hello".utf8) && reports.all == values([0], of: 5))
        _ = try await body.collect()
        #expect(reports.all == values([0, 5], of: 5))
    }

    @Test func aRepeatedBodyRestartsItsProgress() async throws {
        let body = RequestBody.data(Data("hello".utf8)).reportingProgress(clock: clock, reports.record)
        #expect(body.length == 5 && body.replay == .seekable && reports.all.isEmpty)
        for _ in 0..<2 { #expect(try await chunks(of: body.open()) == ["hello"]) }
        #expect(try await chunks(of: body.open(from: 3)) == ["lo"])
        #expect(reports.all == values([0, 5, 0, 5, 3, 5], of: 5))
    }

    @Test func concurrentSendingsOfABodyAreCountedSeparately() async throws {
        let content = Data(count: 200_000)
        let body = RequestBody.data(content).reportingProgress(every: .zero, clock: clock, reports.record)
        let sources = [try await body.open(), try await body.open()]
        var counts = [0, 0]
        while true {
            var isOver = true
            for (index, source) in sources.enumerated() {
                if let chunk = try await source.next() {
                    counts[index] += chunk.count
                    isOver = false
                }
            }
            if isOver { break }
        }
        #expect(counts == [200_000, 200_000])
        // Each value comes once from each.
        let values = Set(reports.all.map(\.bytes)).sorted()
        #expect(values.first == 0 && values.last == 200_000 && values.count > 2)
        for value in values { #expect(reports.all.filter { $0.bytes == value }.count == 2, "\(value) bytes") }
    }

    @Test func anEmptyRequestBodyReportsNothing() async throws {
        let body = RequestBody.empty.reportingProgress(clock: clock, reports.record)
        #expect(body.bufferedData == Data() && reports.all.isEmpty)
    }

    @Test(
        arguments: [
            (TransferProgress(bytes: 1_048_576, total: 4_194_304), 0.25, "1048576 of 4194304 bytes (25 %)"),
            (TransferProgress(bytes: 999, total: 1_000), 0.999, "999 of 1000 bytes (99 %)"),
            (TransferProgress(bytes: 12, total: nil), nil, "12 bytes"), (TransferProgress(bytes: 0, total: 0), 1, "0 of 0 bytes (100 %)"),
            (TransferProgress(bytes: 7, total: 5), 1, "7 of 5 bytes (100 %)"),
        ] as [(TransferProgress, Double?, String)])
    func progressHasAFractionAndAText(_ progress: TransferProgress, _ fraction: Double?, _ text: String) {
        #expect(progress.fraction == fraction && progress.description == text)
    }
}
