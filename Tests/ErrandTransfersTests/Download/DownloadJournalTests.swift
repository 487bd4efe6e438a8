import ErrandCore
import Foundation
import TestSupport
import Testing

@testable import ErrandTransfers

@Suite(.timeLimit(.minutes(5))) struct DownloadJournalTests {
    private static let record = #"{"schema":1,"fileName":"a.zip","bytes":5,"total":10,"validator":"\"a\""}"#

    private static func journal(_ record: String) -> String { #"{"record":\#(record),"process":71}"# }

    @Test func aJournalIsReadAsItWasWritten() throws {
        var record = DownloadResumption(fileName: "Übung \"1\".zip")
        (record.bytes, record.total, record.validator, record.coding) = (.max, .max, "\"a\"", "gzip")
        (record.digest, record.isRejected) = (IntegrityDigest(.sha256, octets: Array(repeating: 255, count: 32)), true)
        for record in [record, DownloadResumption(fileName: "a")] {
            let journal = DownloadJournal(record, process: .max)
            #expect(try DownloadJournal(parsing: journal.octets) == journal)
        }
    }

    @Test func aJournalOfThisVersionHasAKnownForm() throws {
        let journal = try DownloadJournal(parsing: Data(Self.journal(Self.record).utf8))
        #expect(journal.process == 71 && journal.record.description == "a.zip, 5 of 10 bytes, can continue")
        #expect(String(decoding: try journal.octets, as: UTF8.self).contains(#""schema":1"#))
    }

    @Test(
        arguments: [
            ("", .invalid), ("{}", .invalid), ("[[[[", .invalid), ("null", .invalid), ("{\"record\":", .invalid), ("\u{0}", .invalid),
            (record, .invalid), (journal("7"), .invalid), (journal("{}"), .invalid), (journal("null"), .invalid),
            (#"{"record":\#(record)}"#, .invalid), (#"{"record":\#(record),"process":4294967296}"#, .invalid),
            (#"{"record":\#(record),"process":"71"}"#, .invalid),
            (journal(#"{"schema":0,"fileName":"a","bytes":1}"#), .invalid), (journal(#"{"schema":-1,"fileName":"a"}"#), .invalid),
            (journal(#"{"schema":"2","fileName":"a","bytes":1}"#), .invalid),
            (journal(#"{"schema":1,"fileName":"../a","bytes":1}"#), .invalid),
            (journal(#"{"schema":1,"fileName":"a","bytes":1,"coding":"gzip\r\nX: y"}"#), .invalid),
            (journal(#"{"schema":1,"fileName":"a","bytes":1,"coding":"\#(String(repeating: "a", count: 8_193))"}"#), .invalid),
            (journal(#"{"schema":2}"#), .newerSchema(2)), (#"{"record":{"schema":9,"bytes":"many"},"new":[]}"#, .newerSchema(9)),
            (journal(record) + String(repeating: " ", count: 65_536), .tooLong), (String(repeating: "x", count: 65_537), .tooLong),
            (String(repeating: "[", count: 65_536), .invalid),
        ] as [(String, DownloadJournal.Problem)])
    func hostileOctetsAreRefused(_ text: String, _ problem: DownloadJournal.Problem) {
        #expect(throws: problem) { try DownloadJournal(parsing: Data(text.utf8)) }
        #expect(!"\(problem)".isEmpty)
    }

    @Test(
        arguments: [
            (journal(record), 71), (#"{"process":71}"#, 71), (journal(#"{"schema":2}"#), 71), (journal("null"), 71), ("{}", nil), ("", nil),
            (#"{"process":1e99}"#, nil), (#"{"process":71}"# + String(repeating: " ", count: 65_536), nil),
        ] as [(String, Int32?)])
    func theOwnerIsReadFromAnyVersion(_ text: String, _ process: Int32?) {
        #expect(DownloadJournal.process(parsing: Data(text.utf8)) == process)
    }

    /// The longest values that a server can send must not make a journal that can't be read.
    @Test(arguments: [8_190, 8_191, 70_000]) func longValuesOfAServerAreReadAgain(_ count: Int) throws {
        let long = String(repeating: "\\", count: count)
        let fields: HTTPFields = [.eTag: "\"\(long)\"", .contentEncoding: long]
        let head = DownloadRule.Head(
            response: HTTPResponse(status: .ok, headerFields: fields), bodyLength: 10, isDecoded: false, isAccepted: true)
        let file = DownloadResumption(fileName: String(repeating: "\\", count: 255))
        let now = HTTPDate(secondsSinceEpoch: 0)
        guard case .write(_, _, let record) = DownloadRule.decide(head, asked: nil, record: file, now: now) else {
            Issue.record("the content is not written")
            return
        }
        let journal = DownloadJournal(record, process: 1)
        #expect(try DownloadJournal(parsing: journal.octets) == journal)
        #expect((record.validator != nil) == (count < 8_191))
    }

    @Test func aDeepTextIsReadOnASmallStack() async {
        for text in [String(repeating: "[", count: 60_000), Self.journal(String(repeating: "{\"a\":", count: 10_000))] {
            let isRead = await onSmallStack { (try? DownloadJournal(parsing: Data(text.utf8))) != nil }
            #expect(!isRead)
        }
    }

    @Test func theTimeIsInProportionToTheLength() {
        let texts: [(Int) -> String] = [
            { String(repeating: "[", count: 60) + String(repeating: "\"\",", count: $0) },
            { Self.journal(#"{"schema":1,"fileName":"a","bytes":1,\#(String(repeating: "\"validator\":1,", count: $0))"total":2}"#) },
            { #"{"process":1,"\#(String(repeating: "\\u00e9", count: $0))":1}"# },
        ]
        for text in texts {
            let growth = growth(of: 500, making: { Data(text($0).utf8) }) { _ = try? DownloadJournal(parsing: $0) }
            #expect(growth < 30)
        }
    }
}
