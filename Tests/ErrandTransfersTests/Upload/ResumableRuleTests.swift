import ErrandCore
import ErrandFormats
import Testing

@testable import ErrandTransfers

/// What an upload by the IETF draft asks for, and what it does with each response.
@Suite(.timeLimit(.minutes(5))) struct ResumableRuleTests {
    private let rule = ResumableRule(version: 8)

    private func record(_ bytes: Int64 = 40, total: Int64 = 100, isCreated: Bool = true) -> UploadResumption {
        var record = UploadResumption(.resumable(), target: "t", total: total)
        record.bytes = bytes
        record.url = isCreated ? try? HTTPURL("https://a.example/u/1") : nil
        return record
    }

    private func head(_ status: Int, _ lines: [String], problem: String? = nil, idempotent: Bool = false) throws -> UploadHead {
        var head = UploadHead(response: response(status, lines), url: try HTTPURL("https://a.example/files"))
        head.problem = try problem.map { try ProblemDetails(parsing: Array($0.utf8)) }
        head.limits = ResumableRule.limits(in: head.fields, or: UploadLimits())
        head.isIdempotent = idempotent
        return head
    }

    private static let whole = UploadAction.create(UploadPart(range: 0..<100, isLast: true))
    private static let empty = UploadAction.create(UploadPart(range: 0..<0, isLast: false))
    private static let first = UploadAction.create(UploadPart(range: 0..<30, isLast: false))
    private static let middle = UploadAction.append(UploadPart(range: 40..<70, isLast: false))
    private static let last = UploadAction.append(UploadPart(range: 40..<100, isLast: true))

    // MARK: Requests

    @Test(
        arguments: [
            (100, .automatic, true, UploadPart(range: 0..<100, isLast: true)),
            (100, .automatic, false, UploadPart(range: 0..<0, isLast: false)),
            (100, .withContent, false, UploadPart(range: 0..<100, isLast: true)),
            (100, .empty, true, UploadPart(range: 0..<0, isLast: false)),
            (0, .empty, true, UploadPart(range: 0..<0, isLast: true)), (0, .automatic, false, UploadPart(range: 0..<0, isLast: true)),
        ] as [(Int64, UploadOptions.Creation, Bool, UploadPart)])
    func theTransportDecidesAboutTheContentOfTheCreation(
        _ total: Int64, _ creation: UploadOptions.Creation, _ sees: Bool, _ expected: UploadPart
    ) {
        #expect(rule.firstPart(total: total, options: UploadOptions(creation: creation), seesInformation: sees) == expected)
    }

    @Test(arguments: [6, 8]) func theRequestsHaveTheFieldsOfTheDraft(_ version: Int) {
        let rule = ResumableRule(version: version)
        let (put, fields) = rule.request(for: Self.whole, of: record(0, isCreated: false), method: .put, options: .standard)
        #expect(put == .put && fields[.uploadComplete] == "?1" && fields[.uploadLength] == "100")
        #expect(fields[.uploadDraftInteropVersion] == "\(version)" && fields[.contentType] == nil)
        let careful = rule.request(for: Self.empty, of: record(0, isCreated: false), method: .post, options: .standard).fields
        #expect(careful[.uploadComplete] == "?0" && careful[.uploadLength] == "100")
        let (patch, part) = rule.request(for: Self.middle, of: record(), method: .put, options: .standard)
        #expect(patch == .patch && part[.uploadComplete] == "?0" && part[.uploadOffset] == "40")
        #expect(part[.contentType] == "application/partial-upload" && part[.uploadDraftInteropVersion] == "\(version)")
        #expect(rule.request(for: Self.last, of: record(), method: .put, options: .standard).fields[.uploadComplete] == "?1")
        let (ask, asked) = rule.request(for: .askOffset, of: record(), method: .put, options: .standard)
        #expect(ask == .head && asked[.uploadComplete] == nil && asked[.uploadOffset] == nil && asked[.cacheControl] == "no-store")
        #expect(rule.request(for: .cancel, of: record(), method: .put, options: .standard).method == .delete)
    }

    @Test func aWrongRequestIsRefused() {
        #expect(rule.problem(of: .get, options: .standard) != nil && rule.problem(of: .put, options: .standard) == nil)
        #expect(rule.problem(of: .post, options: UploadOptions(metadata: ["a": "b"])) != nil)
        #expect(rule.problem(of: .post, options: UploadOptions(checksum: .sha1)) != nil)
    }

    @Test(
        arguments: [
            (nil, UploadLimits(), 60), (nil, UploadLimits(maxPart: 20), 20), (10, UploadLimits(maxPart: 20), 10),
            (50, UploadLimits(maxPart: 20), 20), (10, UploadLimits(minPart: 15), 15), (10, UploadLimits(maxPart: 12, minPart: 15), 12),
            (10, UploadLimits(minPart: 500), 60), (nil, UploadLimits(maxPart: 0), 1),
        ] as [(Int64?, UploadLimits, Int64)])
    func aPartObeysTheLimits(_ own: Int64?, _ limits: UploadLimits, _ expected: Int64) {
        let part = rule.part(from: 40, of: 100, options: UploadOptions(partBytes: own), limits: limits)
        #expect(part.count == expected && part.isLast == (expected == 60))
    }

    @Test(
        arguments: [
            ("max-size=9", UploadLimits(maxSize: 9)), ("max-append-size=5, min-append-size=2", UploadLimits(maxPart: 5, minPart: 2)),
            ("max-size=9, unknown=?1, max-age=60", UploadLimits(maxSize: 9)), ("", UploadLimits()),
            // A value of a wrong type makes the whole field invalid.
            ("max-size=9, max-append-size=\"5\"", UploadLimits(maxPart: 77)), ("max-size=-1", UploadLimits(maxPart: 77)),
            ("max-size=9, max-age=1.5", UploadLimits(maxPart: 77)), ("max-size=(1 2)", UploadLimits(maxPart: 77)),
            ("max-size", UploadLimits(maxPart: 77)), ("max-size=", UploadLimits(maxPart: 77)),
            ("max-size=9999999999999999", UploadLimits(maxPart: 77)),
        ])
    func limitsAreAStructuredField(_ text: String, _ expected: UploadLimits) {
        let fields = response(200, ["Upload-Limit: " + text]).headerFields
        #expect(ResumableRule.limits(in: fields, or: UploadLimits(maxPart: 77)) == expected)
    }

    // MARK: Creation

    @Test(
        arguments: [
            // The request has the whole content: each 2xx is the response of the resource.
            (Self.whole, 200, [], .complete), (Self.whole, 201, ["Location: /thing"], .complete),
            (Self.whole, 200, ["Upload-Complete: ?1"], .complete), (Self.whole, 422, ["Upload-Complete: ?1"], .refuseFinally),
            (Self.whole, 500, ["Upload-Complete: ?1"], .refuseFinally), (Self.whole, 500, [], .refuse), (Self.whole, 405, [], .refuse),
            (Self.whole, 201, ["Upload-Complete: ?0", "Location: /u/1"], .askOffset),
            (Self.whole, 200, ["Upload-Complete: 1"], .complete),
            // The request has no content, or a part.
            (Self.empty, 201, ["Location: /u/1"], .append(0)), (Self.empty, 201, ["Location: /u/1", "Upload-Offset: 0"], .append(0)),
            (Self.empty, 200, [], .fail(.notResumable)), (Self.empty, 201, ["Location: http://a.example/u/1"], .fail(.insecureLocation)),
            (Self.first, 201, ["Location: /u/1"], .append(30)), (Self.first, 201, ["Location: /u/1", "Upload-Offset: 20"], .append(20)),
            (Self.first, 201, ["Location: /u/1", "Upload-Offset: 0"], .wait(.noProgress)),
            (Self.first, 201, ["Location: /u/1", "Upload-Offset: 31"], .askOffset),
            (Self.first, 201, ["Location: /u/1", "Upload-Offset: 101"], .fail(.offsetBeyondEnd)),
            (Self.first, 201, ["Location: /u/1", "Upload-Offset: \"x\""], .append(30)),
            (Self.first, 201, ["Location: /u/1", "Upload-Limit: max-size=99"], .cancel(.tooLarge)), (Self.first, 404, [], .refuse),
        ] as [(UploadAction, Int, [String], Expected)])
    func aCreationIsJudged(_ action: UploadAction, _ status: Int, _ lines: [String], _ expected: Expected) throws {
        #expect(Expected(rule.decide(try head(status, lines), after: action, of: record(0, isCreated: false))) == expected)
    }

    @Test func bothLocationsOfACreationAreEqual() throws {
        let other = rule.decide(try head(201, ["Location: /u/2"]), after: Self.empty, of: record(0))
        #expect(other == .fail(.noLocation))
        #expect(Expected(rule.decide(try head(201, ["Location: /u/1"]), after: Self.empty, of: record(0))) == .append(0))
        // The status 104 has named the upload, and the final response does not.
        #expect(Expected(rule.decide(try head(201, []), after: Self.empty, of: record(0))) == .append(0))
    }

    // MARK: The offset

    @Test(
        arguments: [
            (204, ["Upload-Offset: 40", "Upload-Complete: ?0", "Upload-Length: 100"], .append(40)),
            // The offset may be less than the bytes that were sent, or more.
            (204, ["Upload-Offset: 0"], .append(0)), (204, ["Upload-Offset: 70"], .append(70)),
            // The server has all bytes, but the upload is not complete: an empty part completes it.
            (204, ["Upload-Offset: 100", "Upload-Complete: ?0"], .append(100)),
            (204, ["Upload-Offset: 100", "Upload-Complete: ?1"], .complete), (204, ["Upload-Complete: ?1"], .complete),
            (204, ["Upload-Offset: 101"], .fail(.offsetBeyondEnd)), (204, [], .fail(.noOffset)),
            (204, ["Upload-Offset: 4.5"], .fail(.noOffset)), (204, ["Upload-Offset: -4"], .fail(.noOffset)),
            (204, ["Upload-Offset: \"40\""], .fail(.noOffset)), (204, ["Upload-Offset: 4", "Upload-Offset: 5"], .fail(.noOffset)),
            (204, ["Upload-Offset: 9999999999999999999"], .fail(.noOffset)),
            (204, ["Upload-Offset: 40", "Upload-Length: 99"], .fail(.anotherLength)),
            (204, ["Upload-Offset: 40", "Upload-Length: x"], .append(40)),
            (404, [], .startAgain(.unknownUpload)), (410, [], .startAgain(.unknownUpload)), (401, [], .refuse), (403, [], .refuse),
            (500, [], .refuse), (307, [], .refuse),
        ] as [(Int, [String], Expected)])
    func theOffsetDecides(_ status: Int, _ lines: [String], _ expected: Expected) throws {
        #expect(Expected(rule.decide(try head(status, lines), after: .askOffset, of: record())) == expected)
    }

    @Test func aRemovedUploadMayBeComplete() throws {
        var record = record(100)
        record.mayBeComplete = true
        #expect(rule.decide(try head(404, []), after: .askOffset, of: record) == .fail(.mayBeComplete))
        #expect(rule.decide(try head(404, [], idempotent: true), after: .askOffset, of: record) == .startAgain(.unknownUpload))
        guard case .append(let known) = rule.decide(try head(204, ["Upload-Offset: 90"]), after: .askOffset, of: record) else {
            throw Unexpected()
        }
        #expect(!known.mayBeComplete)
    }

    // MARK: Parts

    @Test(
        arguments: [
            (Self.middle, 204, ["Upload-Complete: ?0"], .append(70)), (Self.middle, 204, [], .append(70)),
            (Self.middle, 204, ["Upload-Offset: 60"], .append(60)), (Self.middle, 204, ["Upload-Offset: 40"], .wait(.noProgress)),
            (Self.middle, 204, ["Upload-Offset: 39"], .askOffset), (Self.middle, 204, ["Upload-Offset: 71"], .askOffset),
            (Self.middle, 204, ["Upload-Offset: 101"], .fail(.offsetBeyondEnd)),
            (Self.last, 200, ["Upload-Complete: ?1"], .complete), (Self.last, 400, ["Upload-Complete: ?1"], .refuseFinally),
            (Self.last, 500, ["Upload-Complete: ?1"], .refuseFinally), (Self.last, 204, ["Upload-Complete: ?0"], .askOffset),
            (Self.last, 204, [], .askOffset), (Self.last, 500, [], .refuse), (Self.last, 503, ["Upload-Complete: ?0"], .refuse),
            (Self.middle, 404, [], .wait(.unknownUpload)), (Self.middle, 410, [], .wait(.unknownUpload)),
            (Self.middle, 409, [], .wait(.anotherOffset)), (Self.middle, 409, ["Upload-Offset: 55"], .append(55)),
            (Self.middle, 409, ["Upload-Offset: 0"], .append(0)), (Self.middle, 409, ["Upload-Offset: 101"], .fail(.offsetBeyondEnd)),
            (Self.middle, 401, [], .refuse), (Self.middle, 403, [], .refuse), (Self.middle, 413, [], .refuse),
            (Self.middle, 413, ["Upload-Limit: max-append-size=10"], .askOffset),
            (Self.middle, 413, ["Upload-Limit: max-append-size=30"], .refuse),
            (Self.middle, 413, ["Upload-Limit: max-size=10"], .cancel(.tooLarge)),
        ] as [(UploadAction, Int, [String], Expected)])
    func aPartIsJudged(_ action: UploadAction, _ status: Int, _ lines: [String], _ expected: Expected) throws {
        #expect(Expected(rule.decide(try head(status, lines), after: action, of: record())) == expected)
    }

    @Test(
        arguments: [
            (#"{"type":"https://iana.org/assignments/http-problem-types#mismatching-upload-offset","expected-offset":55}"#, .append(55)),
            (#"{"type":"https://iana.org/assignments/http-problem-types#mismatching-upload-offset"}"#, .wait(.anotherOffset)),
            (#"{"type":"about:blank","expected-offset":55}"#, .wait(.anotherOffset)),
            (
                #"{"type":"https://iana.org/assignments/http-problem-types#mismatching-upload-offset","expected-offset":-1}"#,
                .wait(.anotherOffset)
            ),
            (
                #"{"type":"https://iana.org/assignments/http-problem-types#mismatching-upload-offset","expected-offset":"5"}"#,
                .wait(.anotherOffset)
            ),
            (
                #"{"type":"https://iana.org/assignments/http-problem-types#mismatching-upload-offset","expected-offset":101}"#,
                .fail(.offsetBeyondEnd)
            ),
        ] as [(String, Expected)])
    func aProblemNamesTheExpectedOffset(_ problem: String, _ expected: Expected) throws {
        #expect(Expected(rule.decide(try head(409, [], problem: problem), after: Self.middle, of: record())) == expected)
    }

    @Test func anInconsistentLengthEndsTheUpload() throws {
        let problem = #"{"type":"https://iana.org/assignments/http-problem-types#inconsistent-upload-length"}"#
        #expect(rule.decide(try head(400, [], problem: problem), after: Self.middle, of: record()) == .fail(.anotherLength))
        #expect(Expected(rule.decide(try head(400, []), after: Self.middle, of: record())) == .refuse)
    }

    @Test func version6DoesNotMarkTheLastResponse() throws {
        let old = ResumableRule(version: 6)
        #expect(old.decide(try head(201, []), after: Self.last, of: record()) == .complete)
        #expect(Expected(old.decide(try head(201, ["Upload-Complete: ?0"]), after: Self.last, of: record())) == .askOffset)
    }
}
