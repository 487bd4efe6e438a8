import ErrandCore
import Testing

@testable import ErrandTransfers

/// What a download asks for, and what it does with each response. See RFC 9110, sections 13.1.5, 14 and 15.3.7.
@Suite(.timeLimit(.minutes(5))) struct DownloadRuleTests {
    private static let now = HTTPDate(secondsSinceEpoch: 1_800_000_000)
    private static let modified = "Fri, 15 Jan 2027 07:00:00 GMT"
    private static let date = "Fri, 15 Jan 2027 08:00:00 GMT"

    private func record(_ bytes: Int64 = 40, total: Int64? = 100, validator: String? = "\"a\"") -> DownloadResumption {
        var record = DownloadResumption(fileName: "file")
        (record.bytes, record.total, record.validator) = (bytes, total, validator)
        return record
    }

    private func head(
        _ status: Int, _ lines: [String], length: Int64? = nil, isDecoded: Bool = false
    ) -> DownloadRule.Head {
        var fields = HTTPFields()
        for line in lines {
            let parts = line.split(separator: ":", maxSplits: 1)
            if let name = HTTPField.Name(String(parts[0])) {
                fields.append(HTTPField(name: name, value: String(parts[1].drop { $0 == " " })))
            }
        }
        let response = HTTPResponse(status: HTTPResponse.Status(code: status), headerFields: fields)
        return DownloadRule.Head(
            response: response, bodyLength: length, isDecoded: isDecoded, isAccepted: (200..<300).contains(status))
    }

    private func decide(_ head: DownloadRule.Head, isPart: Bool = true, _ record: DownloadResumption) -> DownloadDecision {
        DownloadRule.decide(head, asked: isPart ? DownloadRule.range(after: record) : nil, record: record, now: Self.now)
    }

    // MARK: The request

    @Test(
        arguments: [
            (40, 100, "\"a\"", 40), (0, 100, "\"a\"", nil), (40, nil, "\"a\"", 40), (40, 100, nil, nil),
            // All bytes are there: the last byte is asked for again.
            (100, 100, "\"a\"", 99), (1, 1, "\"a\"", nil),
        ] as [(Int64, Int64?, String?, Int64?)])
    func aRequestAsksForTheRest(_ bytes: Int64, _ total: Int64?, _ validator: String?, _ offset: Int64?) {
        #expect(DownloadRule.range(after: record(bytes, total: total, validator: validator))?.offset == offset)
    }

    @Test func aRejectedContentIsAskedForAsAWhole() {
        var record = record()
        record.isRejected = true
        #expect(DownloadRule.range(after: record) == nil)
    }

    // MARK: Parts

    /// The response to `Range: bytes=40-` with `If-Range: "a"`, for a content of 100 bytes.
    @Test(
        arguments: [
            (["Content-Range: bytes 40-99/100", "ETag: \"a\""], 60, nil),
            (["Content-Range: bytes 40-99/100", "ETag: \"a\""], nil, nil),
            // A server may send less than the request asks for.
            (["Content-Range: bytes 40-59/100", "ETag: \"a\""], 20, nil),
            (["Content-Range: bytes 41-99/100", "ETag: \"a\""], 59, .anotherOffset),
            (["Content-Range: bytes 39-99/100", "ETag: \"a\""], 61, .anotherOffset),
            (["Content-Range: bytes 0-99/100", "ETag: \"a\""], 100, .anotherOffset),
            (["Content-Range: bytes 40-99/101", "ETag: \"a\""], 60, .anotherLength),
            (["Content-Range: bytes 40-98/99", "ETag: \"a\""], 59, .anotherLength),
            (["Content-Range: bytes 40-99/*", "ETag: \"a\""], 60, .anotherLength),
            (["Content-Range: bytes */100", "ETag: \"a\""], 60, .noRange),
            (["Content-Range: bytes 40-39/100", "ETag: \"a\""], 0, .noRange),
            (["Content-Range: items 40-99/100", "ETag: \"a\""], 60, .noRange),
            (["Content-Range: bytes 40-99/100", "Content-Range: bytes 41-99/100", "ETag: \"a\""], 60, .noRange),
            (["ETag: \"a\""], 60, .noRange),
            (["Content-Type: multipart/byteranges; boundary=x", "ETag: \"a\""], 200, .severalParts),
            (["Content-Range: bytes 40-99/100", "ETag: \"b\""], 60, .anotherValidator),
            (["Content-Range: bytes 40-99/100", "ETag: W/\"a\""], 60, .noValidator),
            (["Content-Range: bytes 40-99/100"], 60, .noValidator),
            (["Content-Range: bytes 40-99/100", "Last-Modified: \(modified)"], 60, .noValidator),
            (["Content-Range: bytes 40-99/100", "ETag: \"a\""], 59, .anotherBodyLength),
            (["Content-Range: bytes 40-99/100", "ETag: \"a\""], 61, .anotherBodyLength),
            (["Content-Range: bytes 40-99/100", "ETag: \"a\"", "Content-Encoding: gzip"], 60, .anotherCoding),
            (["Content-Range: bytes 40-99/100", "ETag: \"a\"", "Content-Encoding: identity"], 60, nil),
        ] as [([String], Int64?, DownloadDecision.Reason?)])
    func aPartContinuesTheFileOrNot(_ lines: [String], _ length: Int64?, _ reason: DownloadDecision.Reason?) throws {
        let record = record()
        let decision = decide(head(206, lines, length: length), record)
        if let reason {
            #expect(decision == .startAgain(reason))
        } else {
            let end: Int64 = lines[0].contains("59/") ? 60 : 100
            #expect(decision == .write(from: 40, to: end, record: record))
        }
    }

    @Test func aDecodedPartIsRefused() {
        let head = head(206, ["Content-Range: bytes 40-99/100", "ETag: \"a\""], isDecoded: true)
        #expect(decide(head, record()) == .startAgain(.anotherCoding))
    }

    @Test func aPartOfEncodedBytesContinuesEncodedBytes() {
        var record = record()
        record.coding = "gzip"
        let lines = ["Content-Range: bytes 40-99/100", "ETag: \"a\""]
        #expect(decide(head(206, lines + ["Content-Encoding: gzip"]), record) == .write(from: 40, to: 100, record: record))
        #expect(decide(head(206, lines), record) == .startAgain(.anotherCoding))
    }

    @Test func aPartTellsTheTotal() {
        let unknown = record(total: nil)
        let decision = decide(head(206, ["Content-Range: bytes 40-99/100", "ETag: \"a\""]), unknown)
        #expect(decision == .write(from: 40, to: 100, record: record()))
        let short = decide(head(206, ["Content-Range: bytes 40-40/41", "ETag: \"a\""]), record(41, total: nil))
        #expect(short == .startAgain(.anotherOffset))
    }

    @Test func aDateIsAValidatorOnlyIfItIsStrong() {
        let record = record(validator: Self.modified)
        let lines = ["Content-Range: bytes 40-99/100", "Last-Modified: \(Self.modified)"]
        #expect(decide(head(206, lines + ["Date: \(Self.date)"]), record) == .write(from: 40, to: 100, record: record))
        #expect(decide(head(206, lines + ["Date: \(Self.modified)"]), record) == .startAgain(.noValidator))
        #expect(decide(head(206, lines), record) == .startAgain(.noValidator))
    }

    @Test func aPartThatWasNotRequestedFails() {
        let decision = decide(head(206, ["Content-Range: bytes 0-9/100", "ETag: \"a\""]), isPart: false, record())
        #expect(decision == .fail(.notRequested))
    }

    // MARK: Whole contents

    @Test(arguments: [200, 203], [true, false])
    func aWholeContentReplacesTheBytes(_ status: Int, isPart: Bool) {
        let decision = decide(head(status, ["ETag: \"b\""], length: 70), isPart: isPart, record())
        #expect(decision == .write(from: 0, to: 70, record: record(0, total: 70, validator: "\"b\"")))
    }

    @Test(
        arguments: [
            (["ETag: W/\"a\""], nil), (["ETag: a"], nil), ([], nil), (["Last-Modified: \(modified)"], nil),
            (["Last-Modified: \(modified)", "Date: \(date)"], modified),
            // With a weak tag, the date is not used.
            (["ETag: W/\"a\"", "Last-Modified: \(modified)", "Date: \(date)"], nil),
        ] as [([String], String?)])
    func onlyAStrongValidatorIsKept(_ lines: [String], _ validator: String?) {
        let decision = decide(head(200, lines), isPart: false, record(0))
        #expect(decision == .write(from: 0, to: nil, record: record(0, total: nil, validator: validator)))
    }

    @Test func decodedBytesHaveNoValidator() {
        let decision = decide(head(200, ["ETag: \"a\""], length: 70, isDecoded: true), isPart: false, record(0))
        #expect(decision == .write(from: 0, to: 70, record: record(0, total: nil, validator: nil)))
    }

    // MARK: Other statuses

    @Test(
        arguments: [
            (["Content-Range: bytes */100"], .startAgain(.anotherLength)), (["Content-Range: bytes */40"], .startAgain(.anotherLength)),
            ([], .startAgain(.notSatisfiable)), (["Content-Range: bytes */100", "ETag: \"b\""], .startAgain(.anotherValidator)),
        ] as [([String], DownloadDecision)])
    func anUnsatisfiableRangeStartsAgain(_ lines: [String], _ expected: DownloadDecision) {
        #expect(decide(head(416, lines), record()) == expected)
    }

    @Test func anUnsatisfiableRangeIsTheEndOfAnUnknownTotal() {
        #expect(decide(head(416, ["Content-Range: bytes */40"]), record(total: nil)) == .complete)
        #expect(decide(head(416, ["Content-Range: bytes */41"]), record(total: nil)) == .startAgain(.anotherLength))
        #expect(decide(head(416, []), isPart: false, record(0)) == .refuse)
    }

    @Test(arguments: [202, 204, 304, 401, 403, 404, 410, 412, 500, 503])
    func anotherStatusNeverReplacesBytes(_ status: Int) {
        #expect(decide(head(status, ["ETag: \"a\""]), record()) == .refuse)
    }

    @Test func anAcceptedStatusIsAContentIfNoBytesAreThere() {
        #expect(decide(head(204, []), isPart: false, record(0)) == .write(from: 0, to: nil, record: record(0, total: nil, validator: nil)))
        #expect(decide(head(404, []), isPart: false, record(0)) == .refuse)
    }

    // MARK: Digests

    @Test func theDigestOfTheRepresentationIsKept() throws {
        let octets = [UInt8](repeating: 7, count: 32)
        let value = "sha-256=:\(Data(octets).base64EncodedString()):, md5=:AAAA:"
        let digest = try #require(IntegrityDigest(.sha256, octets: octets))
        var expected = record(0, total: nil, validator: nil)
        expected.digest = digest
        for name in ["Repr-Digest", "Content-Digest"] {
            #expect(decide(head(200, ["\(name): \(value)"]), isPart: false, record(0)) == .write(from: 0, to: nil, record: expected))
        }
        // The digest of the content of a part is not the digest of the file.
        let lines = ["Content-Range: bytes 40-99/100", "ETag: \"a\""]
        #expect(decide(head(206, lines + ["Content-Digest: \(value)"]), record()) == .write(from: 40, to: 100, record: record()))
        var known = record()
        known.digest = digest
        #expect(decide(head(206, lines + ["Repr-Digest: \(value)"]), record()) == .write(from: 40, to: 100, record: known))
    }
}
