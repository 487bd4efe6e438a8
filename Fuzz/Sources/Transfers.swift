import ErrandCore
import Foundation

@testable import ErrandTransfers

let transferTargets = [Target("download-journal", downloadJournal)]

private func downloadJournal(_ input: inout Input) {
    let octets = Data(input.bytes())
    _ = DownloadJournal.process(parsing: octets)
    guard let journal = try? DownloadJournal(parsing: octets) else { return }
    let record = journal.record
    expect(octets.count <= DownloadJournal.limitBytes, "a journal is longer than the limit")
    expect(record.bytes >= 0 && record.total ?? .max >= record.bytes, "impossible lengths")
    expect(!record.fileName.isEmpty && !record.fileName.utf8.contains { $0 == 0 || $0 == UInt8(ascii: "/") }, "not the name of a file")
    for text in [record.validator, record.coding].compactMap(\.self) {
        expect(!text.utf8.contains { $0 == 0 || $0 == 10 || $0 == 13 }, "a text can't be the value of a field")
    }
    expectEqual(DownloadJournal.process(parsing: octets), journal.process, "two processes")
    guard let written = try? journal.octets, let again = try? DownloadJournal(parsing: written) else { fail("a journal is lost") }
    expectEqual(again, journal, "a journal changes when it is written and read")
}
