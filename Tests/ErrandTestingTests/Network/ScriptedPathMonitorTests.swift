import ErrandCore
import ErrandTesting
import TestSupport
import Testing

@Suite(.timeLimit(.minutes(5))) struct ScriptedPathMonitorTests {
    @Test func aReaderGetsThePathAndItsChanges() async {
        let network = ScriptedPathMonitor()
        #expect(network.currentPath == .wifi && network.readerCount == 0)
        var paths = network.paths().makeAsyncIterator()
        #expect(await paths.next() == .wifi && network.readerCount == 1)
        network.change(to: .unsatisfied)
        #expect(await paths.next() == .unsatisfied)
        network.change(to: .unsatisfied)
        network.change(to: .cellular)
        #expect(await paths.next() == .cellular && network.currentPath == .cellular)
    }

    @Test func eachReaderGetsEachChange() async {
        let network = ScriptedPathMonitor(.unsatisfied)
        var (first, second) = (network.paths().makeAsyncIterator(), network.paths().makeAsyncIterator())
        for path in [NetworkPath.unsatisfied, .wired] {
            network.change(to: path)
            #expect(await first.next() == path)
            #expect(await second.next() == path)
        }
    }
}
