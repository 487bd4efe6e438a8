import Errand
import Foundation
import Testing

@testable import ErrandCommand

private func row(
    _ phase: TransferRow.Phase = .transferring, _ bytes: Int64 = 4_200_000, of total: Int64? = 8_400_000, rate: Double? = 1_200_000,
    left: Duration? = .seconds(3.5), name: String = "a.zip"
) -> TransferRow {
    TransferRow(name: name, phase: phase, bytes: bytes, total: total, rate: rate, timeLeft: left)
}

/// The lines about transfers, and the order in which transfers begin: functions without a terminal and without a network.
@Suite struct TransferRowTests {
    // MARK: - Bars

    @Test(
        arguments: [
            (row(), 100, "a.zip  [===============               ]   50 %  4.2 MB of 8.4 MB  1.2 MB/s  3.5 s left"),
            (row(), 80, "a.zip  [===========            ]   50 %  4.2 MB of 8.4 MB  1.2 MB/s  3.5 s left"),
            (row(), 60, "a.zip   50 %  4.2 MB of 8.4 MB  1.2 MB/s  3.5 s left"),
            (row(), 50, "a.zip   50 %  4.2 MB of 8.4 MB  1.2 MB/s"),
            (row(), 34, "a.zip   50 %  4.2 MB of 8.4 MB"),
            (row(), 20, "a.zip   50 %"),
            (row(), 10, "a.zip   5"),
            (row(), 1, ""),
            (row(.transferring, 4_200_000, of: nil, left: nil), 80, "a.zip  4.2 MB  1.2 MB/s"),
            (row(.transferring, 0, of: 0, rate: nil, left: nil), 60, "a.zip  [==============================]  100 %  0 B of 0 B"),
            (row(.transferring, 0, of: 9, rate: nil, left: nil), 60, "a.zip  [                              ]    0 %  0 B of 9 B"),
            (row(.connecting, 0, of: nil), 60, "a.zip  connecting"),
            (row(.connecting), 60, "a.zip  [===============               ]   50 %  connecting"),
            (row(.waiting(.seconds(0.5), reason: "lost")), 70, "a.zip  [=============              ]   50 %  continues in 0.5 s: lost"),
            (row(.verifying, 8_400_000), 70, "a.zip  [==============================]  100 %  checking the digest"),
        ] as [(TransferRow, Int, String)])
    func aBarFitsTheTerminal(row: TransferRow, width: Int, line: String) {
        #expect(row.bar(width: width, nameWidth: 5) == line)
    }

    @Test(arguments: 0...120) func noBarIsAsWideAsTheTerminal(width: Int) {
        for name in ["a", "a-very-long-name-of-a-file.tar.gz", "日本語の名前.zip", "e\u{301}\u{301}"] {
            for row in [row(name: name), row(.waiting(.seconds(9), reason: "the connection was lost, and more"), name: name)] {
                #expect(Columns.count(row.bar(width: width, nameWidth: 24)) <= max(0, width - 1))
            }
        }
    }

    @Test func theNamesOfAllBarsHaveOneWidth() {
        var picture = TransferBoard.Picture()
        picture.rows = [1: row(name: "日本.zip"), 0: row(name: "a"), 7: row(name: "a-very-long-name-of-a-file.tar.gz")]
        picture.waiting = 2
        let lines = picture.lines(width: 90)
        #expect(
            lines == [
                "a                         [=======       ]   50 %  4.2 MB of 8.4 MB  1.2 MB/s  3.5 s left",
                "日本.zip                  [=======       ]   50 %  4.2 MB of 8.4 MB  1.2 MB/s  3.5 s left",
                "a-very-long-name-of-a-..  [=======       ]   50 %  4.2 MB of 8.4 MB  1.2 MB/s  3.5 s left", "and 2 more",
            ], "\(lines)")
    }

    @Test func aPictureReplacesTheLastPicture() {
        var picture = TransferBoard.Picture()
        #expect(picture.frame(width: 80) == "\u{1B}[J")
        picture.rows = [0: row(.connecting, 0, of: nil), 1: row(.connecting, 0, of: nil, name: "b")]
        let line = ["a.zip  connecting", "b      connecting"].map { "\u{1B}[2K\($0)\n" }
        #expect(picture.frame(width: 80) == line.joined() + "\u{1B}[J")
        picture.rows[0] = nil
        #expect(picture.frame(width: 80, message: "a.zip: done") == "\u{1B}[2A\u{1B}[2Ka.zip: done\n\u{1B}[2Kb  connecting\n\u{1B}[J")
        picture.rows[1] = nil
        #expect(picture.frame(width: 80) == "\u{1B}[1A\u{1B}[J")
        #expect(picture.frame(width: 80) == "\u{1B}[J")
    }

    @Test(arguments: [
        (true, false, false, "bars"), (false, false, false, "lines"), (true, false, true, "lines"), (true, true, false, "silent"),
        (false, true, true, "silent"),
    ]) func onlyATerminalHasBars(isAnimated: Bool, isSilent: Bool, isVerbose: Bool, style: String) {
        #expect("\(TransferBoard.Style(isAnimated: isAnimated, isSilent: isSilent, isVerbose: isVerbose))" == style)
    }

    // MARK: - Lines

    @Test func aLineIsWrittenAfterFiveSecondsOrTenPercent() {
        var lines = TransferLines()
        var written: [String] = []
        func step(_ seconds: Double, _ row: TransferRow) {
            if let line = lines.line(for: row, at: .seconds(seconds)) { written.append("\(seconds.shortText): \(line)") }
        }
        func percent(_ number: Int64) -> TransferRow { row(.transferring, number * 1000, of: 100_000, rate: nil, left: nil) }
        step(0, row(.connecting, 0, of: nil))
        step(0.1, percent(0))
        step(0.5, percent(30))  // 10 %, but not a second
        step(1.2, percent(31))
        step(3, percent(40))  // less than 10 %
        step(3.5, percent(42))
        step(8, percent(43))
        step(8.4, percent(43))
        step(9, row(.waiting(.seconds(1), reason: "lost"), 43_000, of: 100_000))
        step(9.5, row(.waiting(.seconds(1), reason: "lost"), 43_000, of: 100_000))
        step(14, percent(44))
        step(20, row(.verifying))
        step(21, row(.verifying))
        #expect(
            written == [
                "0.1: a.zip: begins, 100.0 kB", "1.2: a.zip: 31.0 kB of 100.0 kB (31 %)", "3.5: a.zip: 42.0 kB of 100.0 kB (42 %)",
                "9: a.zip: lost; continues in 1 s", "14: a.zip: 44.0 kB of 100.0 kB (44 %)", "20: a.zip: checking the digest",
            ], "\(written)")
    }

    @Test func aContinuedDownloadSaysWhereItContinues() {
        var lines = TransferLines()
        var continued = row()
        continued.offset = 4_200_000
        #expect(lines.line(for: continued, at: .zero) == "a.zip: continues at 4.2 MB of 8.4 MB")
        var unknown = TransferLines()
        #expect(unknown.line(for: row(.transferring, 5, of: nil), at: .zero) == "a.zip: begins")
        #expect(unknown.line(for: row(.transferring, 10, of: nil), at: .seconds(4)) == nil)
        #expect(
            unknown.line(for: row(.transferring, 10, of: nil, left: nil), at: .seconds(5)) == "a.zip: 10 B, 1.2 MB/s")
    }

    @Test(
        arguments: [
            (0, "0 s"), (0.04, "0 s"), (0.5, "0.5 s"), (9.96, "10 s"), (10.4, "10 s"), (59.6, "1 min"), (60, "1 min"), (65, "1 min 5 s"),
            (3600, "1 h"), (7620, "2 h 7 min"), (1e18, "277777 h 46 min"), (-1, "0 s"),
        ] as [(Double, String)]) func aTimeIsShort(seconds: Double, text: String)
    {
        #expect(TransferSize.text(.seconds(min(seconds, 1e15))) == text)
    }

    // MARK: - The order

    @Test func fourTransfersRunAndTwoOfAnOrigin() {
        var queue = TransferQueue(["a", "a", "a", "b", "b", "b", "c", "d"])
        #expect(queue.next() == [0, 1, 3, 4])
        #expect(queue.next() == [])
        queue.end(3)
        #expect(queue.next() == [5])
        queue.end(1)
        #expect(queue.next() == [2])
        queue.end(0)
        queue.end(2)
        #expect(queue.next() == [6, 7])
        for number in [4, 5, 6, 7] { queue.end(number) }
        #expect(queue.next() == [])
    }

    // MARK: - Files

    @Test(arguments: [
        ("http://a.example/x/archive.zip?sig=1", "archive.zip"), ("http://a.example/", "download"), ("http://a.example", "download"),
        ("http://a.example/x/", "download"), ("http://a.example/a%20b.txt", "a b.txt"),
        ("http://a.example/%2E%2E%2Fetc%2Fpasswd", "passwd"),
        ("http://a.example/.bashrc", "bashrc"), ("http://a.example/a%2Fb", "b"), ("http://a.example/%1B%5B2J.txt", "[2J.txt"),
        ("http://a.example/a%FFb", "a%FFb"),
    ]) func theNameOfAURLIsSafe(url: String, name: String) throws {
        #expect(DownloadTarget.name(of: try HTTPURL(pasted: url)) == name)
    }

    @Test(
        arguments: [
            (false, 0, false, false, .download), (false, 0, true, false, .download), (false, 0, false, true, .download),
            (true, 0, false, false, .refuseExisting), (true, 0, true, false, .skip), (true, 0, false, true, .download),
            (true, 0, true, true, .download), (false, 9, false, false, .refusePart(9)), (false, 9, true, false, .download),
            (false, 9, false, true, .discard), (false, 9, true, true, .download), (true, 9, false, false, .refuseExisting),
            (true, 9, true, false, .refuseExisting), (true, 9, false, true, .discard), (true, 9, true, true, .download),
        ] as [(Bool, Int64, Bool, Bool, DownloadTarget.Start)])
    func theFilesOnTheDiskDecide(exists: Bool, bytes: Int64, continues: Bool, replaces: Bool, start: DownloadTarget.Start) {
        #expect(DownloadTarget.start(fileExists: exists, partBytes: bytes, continues: continues, replaces: replaces) == start)
    }

    // MARK: - The command that continues

    @Test(arguments: [
        ("download http://a.example/x", "errand download -C - http://a.example/x", false),
        ("download -C - -L http://a.example/x", "errand download -C - -L http://a.example/x", false),
        ("download --continue --force http://a.example/x", "errand download -C - --force http://a.example/x", false),
        ("download http://a.example/x http://b.example/y", "errand download -C - http://a.example/x", false),
        ("download -u joe:s3cret http://a.example/x", "errand download -C - -u REDACTED http://a.example/x", true),
        ("download -H X-A:b http://a.example/x", "errand download -C - -H X-A:b http://a.example/x", false),
        (
            "download -H Authorization:s3cret http://a.example/x", "errand download -C - -H 'Authorization: REDACTED' http://a.example/x",
            true
        ),
        ("download --cookie=id=s3cret http://a.example/x", "errand download -C - --cookie=REDACTED http://a.example/x", true),
        ("download -b jar http://a.example/x", "errand download -C - -b jar http://a.example/x", false),
        ("download -q token=s3cret -q a=b http://a.example/x", "errand download -C - -q token=REDACTED -q a=b http://a.example/x", true),
        ("download -x http://joe:s3cret@p.example http://a.example/x", "errand download -C - -x REDACTED http://a.example/x", true),
        ("download --oauth2-bearer s3cret http://a.example/x", "errand download -C - --oauth2-bearer REDACTED http://a.example/x", true),
        ("download --retry 3 -- http://a.example/x", "errand download -C - --retry 3 -- http://a.example/x", false),
    ]) func theNextCommandHasNoSecret(words: String, text: String, hides: Bool) {
        let command = ContinueCommand(words: words.split(separator: " ").map(String.init), insertion: ["-C", "-"]) {
            $0 == "http://a.example/x"
        }
        #expect(command.text == text && command.hidesSecrets == hides)
        #expect(!command.text.contains("s3cret"))
    }

    @Test func theNextCommandHidesTheSecretsOfAURL() {
        let url = "https://a.example/it's?X-Amz-Signature=s3cret&a=b"
        let command = ContinueCommand(words: ["download", url], insertion: ["-C", "-"]) { _ in true }
        #expect(command.text == #"errand download -C - 'https://a.example/it'\''s?X-Amz-Signature=REDACTED&a=b'"# && command.hidesSecrets)
        #expect(ContinueCommand.quoted("") == "''" && ContinueCommand.quoted("a\u{1B}") != "a\u{1B}")
    }
}
