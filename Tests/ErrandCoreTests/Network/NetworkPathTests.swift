import TestSupport
import Testing

@testable import ErrandCore

@Suite(.timeLimit(.minutes(5))) struct NetworkPathTests {
    @Test func aCellularNetworkIsExpensiveByDefault() {
        #expect(NetworkPath.cellular.isExpensive && NetworkPath.cellular.usesCellular)
        #expect(!NetworkPath.wifi.isExpensive && !NetworkPath.wifi.usesCellular && !NetworkPath.unknown.isExpensive)
        #expect(!NetworkPath(isSatisfied: true, interfaces: [.cellular], isExpensive: false).isExpensive)
        #expect(NetworkPath(isSatisfied: true, interfaces: [.wifi], isExpensive: true).isExpensive)
    }

    @Test func anUnsatisfiedPathHasNoNetwork() {
        #expect(NetworkPath(isSatisfied: false, interfaces: [.wifi]) == .unsatisfied)
        let path = NetworkPath(isSatisfied: false, interfaces: [.cellular], isExpensive: true, isConstrained: true)
        #expect(path == .unsatisfied && path.interfaces.isEmpty && !path.isExpensive && !path.isConstrained && !path.usesCellular)
    }

    @Test(arguments: [
        (NetworkPath.unsatisfied, "unsatisfied"), (.unknown, "satisfied"), (.cellular, "satisfied, cellular, expensive"),
        (NetworkPath(isSatisfied: true, interfaces: [.wired, .other], isConstrained: true), "satisfied, other, wired, constrained"),
    ])
    func theDescriptionNamesTheTraits(_ path: NetworkPath, _ text: String) { #expect(path.description == text) }

    // MARK: The schedule of reads

    @Test func theFirstChangeIsReadAtOnceAndTheLastIsNeverMissed() {
        var schedule = ReadSchedule(every: .milliseconds(100))
        #expect(schedule.change(at: .seconds(5)) == .zero)
        #expect(schedule.change(at: .seconds(5)) == nil, "a read is planned")
        schedule.read(at: .seconds(5))
        #expect(schedule.change(at: .milliseconds(5_030)) == .milliseconds(70))
        #expect(schedule.change(at: .milliseconds(5_090)) == nil)
        schedule.read(at: .milliseconds(5_100))
        #expect(schedule.change(at: .milliseconds(5_250)) == .zero)
    }

    @Test func aThousandChangesInOneSecondAreReadTenTimes() {
        var schedule = ReadSchedule(every: .milliseconds(100))
        var (reads, due) = (0, Duration?.none)
        for millisecond in 0..<1_000 {
            let now = Duration.milliseconds(millisecond)
            if let wait = schedule.change(at: now) { due = now + wait }
            if let planned = due, planned <= now {
                schedule.read(at: now)
                (reads, due) = (reads + 1, nil)
            }
        }
        #expect(reads == 10)
    }

    // MARK: Readers

    @Test func aReaderGetsTheCurrentValueAndThenTheNewestChange() async {
        let value = CurrentValue(1)
        var reader = value.values().makeAsyncIterator()
        #expect(await reader.next() == 1)
        value.set(2)
        value.set(3)
        value.update { $0 += 0 }
        #expect(await reader.next() == 3)
        value.set(3)
        value.set(4)
        #expect(await reader.next() == 4 && value.value == 4 && value.readerCount == 1)
    }

    @Test func aReaderThatLeavesIsForgotten() async {
        let value = CurrentValue(1)
        let task = Task { for await _ in value.values() {} }
        await eventually { value.readerCount == 1 }
        task.cancel()
        await task.value
        #expect(value.readerCount == 0)
        value.set(2)
    }

    @Test func theSequenceEndsWithTheValue() async {
        var value: CurrentValue? = CurrentValue(1)
        let values = value?.values()
        value = nil
        var seen: [Int] = []
        if let values { for await number in values { seen.append(number) } }
        #expect(seen == [1])
    }
}
