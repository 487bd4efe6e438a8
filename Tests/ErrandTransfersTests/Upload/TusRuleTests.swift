import ErrandCore
import Testing

@testable import ErrandTransfers

/// What an upload by tus 1.0.0 asks for, and what it does with each response.
@Suite(.timeLimit(.minutes(5))) struct TusRuleTests {
    private let rule = TusRule()

    private func record(_ bytes: Int64 = 40, total: Int64 = 100, isCreated: Bool = true) -> UploadResumption {
        var record = UploadResumption(.tus, target: "t", total: total)
        record.bytes = bytes
        record.url = isCreated ? try? HTTPURL("https://a.example/u/1") : nil
        return record
    }

    private func head(_ status: Int, _ lines: [String]) throws -> UploadHead {
        UploadHead(response: response(status, lines), url: try HTTPURL("https://a.example/files"))
    }

    private func append(_ range: Range<Int64>) -> UploadAction { .append(UploadPart(range: range, isLast: range.upperBound == 100)) }

    // MARK: Requests

    @Test func aCreationHasTheLengthAndTheMetadata() {
        let options = UploadOptions(metadata: ["filename": "wörld.txt", "b": "", "a": "1"])
        let part = rule.firstPart(total: 100, options: options, seesInformation: true)
        #expect(part == UploadPart(range: 0..<0, isLast: false))
        let (method, fields) = rule.request(for: .create(part), of: record(0, isCreated: false), method: .post, options: options)
        #expect(method == .post && fields[.tusResumable] == "1.0.0" && fields[.uploadLength] == "100")
        #expect(fields[.uploadMetadata] == "a MQ==,b,filename d8O2cmxkLnR4dA==" && fields[.contentType] == nil)
    }

    @Test func aCreationHasContentIfTheOptionsSaySo() {
        let options = UploadOptions(creation: .withContent, partBytes: 30)
        let part = rule.firstPart(total: 100, options: options, seesInformation: false)
        #expect(part == UploadPart(range: 0..<30, isLast: false))
        let fields = rule.request(for: .create(part), of: record(0, isCreated: false), method: .post, options: options).fields
        #expect(fields[.contentType] == "application/offset+octet-stream")
    }

    @Test func theOtherRequestsHaveTheFieldsOfTheProtocol() {
        let (patch, fields) = rule.request(for: append(40..<100), of: record(), method: .post, options: .standard)
        #expect(patch == .patch && fields[.uploadOffset] == "40" && fields[.contentType] == "application/offset+octet-stream")
        let (ask, asked) = rule.request(for: .askOffset, of: record(), method: .post, options: .standard)
        #expect(ask == .head && asked[.tusResumable] == "1.0.0" && asked[.cacheControl] == "no-store" && asked[.uploadOffset] == nil)
        let (cancel, cancelled) = rule.request(for: .cancel, of: record(), method: .post, options: .standard)
        #expect(cancel == .delete && cancelled[.tusResumable] == "1.0.0")
    }

    @Test(
        arguments: [
            (.post, [:], true), (.put, [:], false), (.get, [:], false), (.post, ["": "x"], false), (.post, ["a b": "x"], false),
            (.post, ["a,b": "x"], false), (.post, ["ä": "x"], false), (.post, ["a\r\nb": "x"], false), (.post, ["a": "\r\n,"], true),
        ] as [(HTTPRequest.Method, [String: String], Bool)])
    func aWrongRequestIsRefused(_ method: HTTPRequest.Method, _ metadata: [String: String], _ isValid: Bool) {
        #expect((rule.problem(of: method, options: UploadOptions(metadata: metadata)) == nil) == isValid)
    }

    @Test(
        arguments: [
            (0, 100, nil, UploadPart(range: 0..<100, isLast: true)), (40, 100, nil, UploadPart(range: 40..<100, isLast: true)),
            (40, 100, 25, UploadPart(range: 40..<65, isLast: false)), (75, 100, 25, UploadPart(range: 75..<100, isLast: true)),
            (99, 100, 25, UploadPart(range: 99..<100, isLast: true)), (100, 100, 25, UploadPart(range: 100..<100, isLast: true)),
        ] as [(Int64, Int64, Int64?, UploadPart)])
    func theNextPartBeginsAtTheOffset(_ offset: Int64, _ total: Int64, _ size: Int64?, _ expected: UploadPart) {
        #expect(rule.part(from: offset, of: total, options: UploadOptions(partBytes: size), limits: UploadLimits()) == expected)
    }

    @Test func aCheckedPartIsSmall() {
        let part = rule.part(from: 0, of: 1 << 30, options: UploadOptions(checksum: .sha1), limits: UploadLimits())
        #expect(part.count == 4 << 20)
    }

    // MARK: Creation

    @Test(
        arguments: [
            (201, ["Location: /u/1"], "https://a.example/u/1", nil), (201, ["Location: 1"], "https://a.example/1", nil),
            (200, ["Location: //b.example/u?sig=x"], "https://b.example/u?sig=x", nil),
            (201, [], nil, .noLocation), (201, ["Location: "], nil, .noLocation),
            (201, ["Location: /a", "Location: /b"], nil, .noLocation),
            (201, ["Location: http://a.example/u/1"], nil, .insecureLocation), (201, ["Location: ftp://a.example/"], nil, .noLocation),
            (201, ["Location: https://me:secret@a.example/u"], nil, .noLocation),
            (201, ["Location: /" + String(repeating: "x", count: 9_000)], nil, .noLocation),
        ] as [(Int, [String], String?, UploadDecision.Reason?)])
    func aCreationHasALocation(_ status: Int, _ lines: [String], _ url: String?, _ reason: UploadDecision.Reason?) throws {
        let decision = rule.decide(
            try head(status, lines), after: .create(UploadPart(range: 0..<0, isLast: false)), of: record(0, isCreated: false))
        switch decision {
        case .append(let record):
            #expect(
                record.url?.description == url && record.bytes == 0 && record.origin?.description.hasPrefix("https://a.example") == true)
        case .fail(let found): #expect(found == reason)
        default: Issue.record("\(decision)")
        }
        #expect((url == nil) == (reason != nil))
    }

    @Test func anEmptyContentIsCompleteAtOnce() throws {
        let decision = rule.decide(
            try head(201, ["Location: /u/1"]), after: .create(UploadPart(range: 0..<0, isLast: true)),
            of: record(0, total: 0, isCreated: false))
        #expect(decision == .complete)
    }

    @Test(
        arguments: [
            (["Upload-Offset: 30"], .append(30)), (["Upload-Offset: 20"], .append(20)), (["Upload-Offset: 0"], .wait(.noProgress)),
            ([], .askOffset), (["Upload-Offset: 31"], .askOffset), (["Upload-Offset: 101"], .fail(.offsetBeyondEnd)),
            (["Upload-Offset: -1"], .askOffset),
        ] as [([String], Expected)])
    func aCreationWithContentHasAnOffset(_ lines: [String], _ expected: Expected) throws {
        let decision = rule.decide(
            try head(201, lines + ["Location: /u/1"]), after: .create(UploadPart(range: 0..<30, isLast: false)),
            of: record(0, isCreated: false))
        #expect(Expected(decision) == expected)
    }

    // MARK: The offset

    @Test(
        arguments: [
            (200, ["Upload-Offset: 40", "Upload-Length: 100"], .append(40)), (204, ["Upload-Offset: 0"], .append(0)),
            (200, ["Upload-Offset: 99"], .append(99)),
            // A full length completes the upload, although the response to the last part was lost.
            (200, ["Upload-Offset: 100", "Upload-Length: 100"], .complete), (200, ["Upload-Offset: 100"], .complete),
            (200, ["Upload-Offset: 101"], .fail(.offsetBeyondEnd)),
            (200, ["Upload-Offset: 99999999999999999999999999"], .fail(.offsetBeyondEnd)),
            (200, ["Upload-Offset: 40", "Upload-Length: 99"], .fail(.anotherLength)),
            (200, [], .fail(.noOffset)), (200, ["Upload-Offset: x"], .fail(.noOffset)), (200, ["Upload-Offset: -4"], .fail(.noOffset)),
            (200, ["Upload-Offset: 4.5"], .fail(.noOffset)), (200, ["Upload-Offset: 4", "Upload-Offset: 5"], .fail(.noOffset)),
            (200, ["Upload-Offset: "], .fail(.noOffset)),
            (404, [], .startAgain(.unknownUpload)), (410, [], .startAgain(.unknownUpload)), (403, [], .startAgain(.unknownUpload)),
            // A 401 keeps the record: the app may sign in again.
            (401, [], .refuse), (412, ["Tus-Version: 0.2.2"], .fail(.otherVersion)), (423, [], .wait(.busy)), (500, [], .refuse),
            (503, [], .refuse), (302, [], .refuse), (400, [], .refuse),
        ] as [(Int, [String], Expected)])
    func theOffsetDecides(_ status: Int, _ lines: [String], _ expected: Expected) throws {
        #expect(Expected(rule.decide(try head(status, lines), after: .askOffset, of: record())) == expected)
    }

    @Test(arguments: [403, 404, 410]) func aForgottenUploadMayBeComplete(_ status: Int) throws {
        var record = record()
        record.mayBeComplete = true
        #expect(rule.decide(try head(status, []), after: .askOffset, of: record) == .fail(.mayBeComplete))
    }

    @Test func theExpirationIsKept() throws {
        let decision = rule.decide(
            try head(200, ["Upload-Offset: 40", "Upload-Expires: Fri, 15 Jan 2027 08:00:00 GMT"]), after: .askOffset, of: record())
        guard case .append(let record) = decision else { throw Unexpected() }
        #expect(record.expires == Date(timeIntervalSince1970: 1_800_000_000))
    }

    // MARK: Parts

    /// The response to the bytes 40 to 70 of 100 bytes.
    @Test(
        arguments: [
            (204, ["Upload-Offset: 70"], .append(70)), (200, ["Upload-Offset: 70"], .append(70)), (204, ["Upload-Offset: 41"], .append(41)),
            (204, ["Upload-Offset: 40"], .wait(.noProgress)), (204, [], .askOffset), (204, ["Upload-Offset: 39"], .askOffset),
            (204, ["Upload-Offset: 71"], .askOffset), (204, ["Upload-Offset: 101"], .fail(.offsetBeyondEnd)),
            (409, [], .wait(.anotherOffset)), (423, [], .wait(.busy)), (460, [], .wait(.checksum)), (412, [], .fail(.otherVersion)),
            (404, [], .wait(.unknownUpload)), (410, [], .wait(.unknownUpload)), (403, [], .wait(.unknownUpload)), (401, [], .refuse),
            (413, [], .refuse), (415, [], .refuse), (500, [], .refuse), (307, [], .refuse),
        ] as [(Int, [String], Expected)])
    func aPartMovesTheOffset(_ status: Int, _ lines: [String], _ expected: Expected) throws {
        #expect(Expected(rule.decide(try head(status, lines), after: append(40..<70), of: record())) == expected)
    }

    @Test func theLastPartCompletesTheUpload() throws {
        #expect(rule.decide(try head(204, ["Upload-Offset: 100"]), after: append(40..<100), of: record()) == .complete)
        #expect(Expected(rule.decide(try head(204, ["Upload-Offset: 90"]), after: append(40..<100), of: record())) == .append(90))
    }
}

struct Unexpected: Error {}

/// A decision without the parts of the record that a table does not show.
enum Expected: Sendable, Equatable {
    case append(Int64)
    case askOffset
    case wait(UploadDecision.Reason)
    case complete
    case refuse
    case refuseFinally
    case startAgain(UploadDecision.Reason)
    case cancel(UploadDecision.Reason)
    case fail(UploadDecision.Reason)

    init(_ decision: UploadDecision) {
        self =
            switch decision {
            case .append(let record): .append(record.bytes)
            case .askOffset: .askOffset
            case .wait(let reason): .wait(reason)
            case .complete: .complete
            case .refuse(let isFinal): isFinal ? .refuseFinally : .refuse
            case .startAgain(let reason): .startAgain(reason)
            case .cancel(_, let reason): .cancel(reason)
            case .fail(let reason): .fail(reason)
            }
    }
}

/// Returns a head with fields as lines, such as `Upload-Offset: 4`.
func response(_ status: Int, _ lines: [String]) -> HTTPResponse {
    var fields = HTTPFields()
    for line in lines {
        let parts = line.split(separator: ":", maxSplits: 1)
        if let name = HTTPField.Name(String(parts[0])) {
            fields.append(HTTPField(name: name, value: String(parts[1].drop { $0 == " " })))
        }
    }
    return HTTPResponse(status: HTTPResponse.Status(code: status), headerFields: fields)
}
