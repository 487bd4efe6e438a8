import Errand
import ErrandTesting
import Foundation
import TestSupport
import Testing

@Suite(.timeLimit(.minutes(5))) struct JSONCodingTests {
    /// A type that needs stack for each level.
    private struct Tree: Decodable, Sendable {
        var value: Int?
        var children: [Tree]?
    }

    private func lists(_ depth: Int) -> Data {
        Data((String(repeating: "[", count: depth) + String(repeating: "]", count: depth)).utf8)
    }

    private static let trees = [1, 63, 64, 500, 5_000, 100_000]

    @Test(arguments: trees) func aRecursiveTypeIsDecodedOrRefusedOnASmallStack(_ depth: Int) async {
        let text = Data(
            (String(repeating: #"{"children":["#, count: depth) + "{}" + String(repeating: "]}", count: depth)).utf8)
        let isDecoded = await onSmallStack { (try? JSONCoding.standard.decode(Tree.self, from: text)) != nil }
        #expect(isDecoded == (depth * 2 + 1 <= 128))
        let unused = await onSmallStack { (try? JSONCoding.standard.decode([String: Int].self, from: text)) != nil }
        #expect(!unused)
    }

    @Test(arguments: [
        JSONCoding.standard, JSONCoding(dates: .secondsSince1970, keys: .snakeCase),
        JSONCoding(encoder: { JSONEncoder() }, decoder: { JSONDecoder() }),
    ])
    func anyJSONIsReadToItsLimit(_ coding: JSONCoding) async throws {
        #expect(try coding.decode(JSONValue.self, from: Data(#"{"a_b":[1,null,"x"]}"#.utf8)) == ["a_b": [1, nil, "x"]])
        for (depth, isRead) in [(64, true), (65, false), (300, false), (100_000, false)] {
            let data = lists(depth)
            let read = await onSmallStack { (try? coding.decode(JSONValue.self, from: data)) != nil }
            #expect(read == isRead)
        }
        let error = #expect(throws: DecodingError.self) { try coding.decode(JSONValue.self, from: Data("{]".utf8)) }
        #expect(error != nil)
    }

    @Test func aCallForAnyJSONTakesTimeInProportionToTheBody() {
        let growth = growth(of: 500, making: { Data((String(repeating: "[", count: 60) + String(repeating: "\"\",", count: $0)).utf8) }) {
            data in
            _ = try? JSONCoding.standard.decode(JSONValue.self, from: data)
        }
        #expect(growth < 30)
    }

    @Test func aDeeplyNestedErrorBodyIsRefused() async throws {
        let body = lists(100_000)
        let stub = StubTransport(
            Stub().responds(.data(body.prefix(60_000), status: .notFound, headers: [.contentType: "application/problem+json"])))
        let error = await #expect(throws: StatusError.self) { try await APIClient(stub).send(try Request(.get, url: "https://a.example/")) }
        #expect(error?.problem == nil)
        #expect(throws: DecodingError.self) { try error?.json(as: JSONValue.self) }
    }

    private static let noon = Date(timeIntervalSince1970: 1_795_264_560)

    @Test(arguments: [
        (JSONCoding.Dates.iso8601(assuming: .gmt), #"["2026-11-21T12:36:00"]"#, #"["2026-11-21T12:36:00Z"]"#),
        (.iso8601(assuming: .gmt), #"["2026-11-21T13:36:00+01:00"]"#, #"["2026-11-21T12:36:00Z"]"#),
        (.iso8601(assuming: TimeZone(secondsFromGMT: 3600)!), #"["2026-11-21 13:36:00"]"#, #"["2026-11-21T12:36:00Z"]"#),
        (.format("dd.MM.yyyy HH:mm"), #"["21.11.2026 12:36"]"#, #"["21.11.2026 12:36"]"#),
        (.format("dd.MM.yyyy HH:mm", in: TimeZone(secondsFromGMT: -7200)!), #"["21.11.2026 10:36"]"#, #"["21.11.2026 10:36"]"#),
        (.format("yyyy-MM-dd'T'HH:mmXXX"), #"["2026-11-21T14:36+02:00"]"#, #"["2026-11-21T12:36Z"]"#),
        (
            .custom(read: { Double($0).map { Date(timeIntervalSince1970: $0) } }, write: { "\(Int($0.timeIntervalSince1970))" }),
            #"["1795264560"]"#, #"["1795264560"]"#
        ),
    ]) func aDateHasTheDeclaredForm(_ dates: JSONCoding.Dates, _ text: String, _ written: String) throws {
        let coding = JSONCoding(dates: dates)
        #expect(try coding.decode([Date].self, from: Data(text.utf8)) == [Self.noon])
        #expect(String(decoding: try coding.encode([Self.noon]), as: UTF8.self) == written)
    }

    @Test(arguments: [
        (JSONCoding.Dates.iso8601, "2026-11-21T12:36:00", "not a date as in RFC 3339: it has no time zone"),
        (.iso8601(assuming: .gmt), "s3cret", "not a date as in RFC 3339: it does not have the form YYYY-MM-DDThh:mm:ssZ"),
        (.format("yyyy-MM-dd"), "s3cret", "not a date of the format 'yyyy-MM-dd'"),
        (.custom(read: { _ in nil }, write: { _ in "" }), "s3cret", "not a date of the custom format in JSONCoding"),
        (.custom(read: { throw TestError($0) }, write: { _ in "" }), "s3cret", "not a date of the custom format in JSONCoding"),
    ]) func aTextOfAnotherFormIsRefusedWithoutItsText(_ dates: JSONCoding.Dates, _ text: String, _ problem: String) throws {
        let body = Data(#"["\#(text)"]"#.utf8)
        let error = #expect(throws: DecodingError.self) { try JSONCoding(dates: dates).decode([Date].self, from: body) }
        guard case .dataCorrupted(let context)? = error else {
            Issue.record("\(error as Any)")
            return
        }
        #expect(context.debugDescription == problem)
    }

    @Test(arguments: [
        (JSONCoding.Dates.iso8601, "99999999999", "form iso8601", "seconds"), (.iso8601, "100000000000", "form iso8601", "milliseconds"),
        (.iso8601(assuming: .gmt), "-1.5", "form iso8601 (GMT if a date has no time zone)", "seconds"),
        (.format("yyyy-MM-dd"), "7", "format 'yyyy-MM-dd'", "seconds"),
        (.custom(read: { _ in nil }, write: { _ in "" }), "7", "custom format in JSONCoding", "seconds"),
    ]) func aNumberInPlaceOfATextIsRefusedWithTheFormOfNumbers(
        _ dates: JSONCoding.Dates, _ number: String, _ form: String, _ unit: String
    ) throws {
        let error = #expect(throws: DecodingError.self) {
            try JSONCoding(dates: dates).decode([Date].self, from: Data("[\(number)]".utf8))
        }
        guard case .dataCorrupted(let context)? = error else {
            Issue.record("\(error as Any)")
            return
        }
        let remedy = "JSONCoding(dates: .\(unit)Since1970) reads such numbers"
        #expect(context.debugDescription == "not a date of the \(form), but a number; \(remedy)")
        #expect(context.codingPath.map(\.intValue) == [0])
    }

    @Test func aDateInTheHourOfAChangeHasOneInstant() throws {
        let berlin = try #require(TimeZone(identifier: "Europe/Berlin"))
        let coding = JSONCoding(dates: .iso8601(assuming: berlin))
        for (text, utc) in [("2026-07-01T12:00:00", "2026-07-01T10:00:00Z"), ("2026-12-01T12:00:00", "2026-12-01T11:00:00Z")] {
            let dates = try coding.decode([Date].self, from: Data(#"["\#(text)","\#(utc)"]"#.utf8))
            #expect(dates[0] == dates[1])
        }
    }

    @Test func aDateWithoutATextIsAnError() {
        let coding = JSONCoding(dates: .format("yyyy-MM-dd"))
        for date in [Date.distantFuture.addingTimeInterval(1e15), Date(timeIntervalSinceReferenceDate: -1e13)] {
            #expect(throws: EncodingError.self) { try coding.encode([date]) }
        }
    }

    /// The calendar of RFC 3339 has no Julian days.
    @Test(arguments: [
        "0000-01-01T00:00:00Z", "0000-02-29T23:59:59Z", "0001-01-01T00:00:00Z", "1500-01-01T00:00:00Z", "1582-10-04T12:00:00Z",
        "1582-10-10T00:00:00Z", "1582-10-14T12:00:00Z", "1582-10-15T00:00:00Z", "1700-03-01T00:00:00Z", "1969-12-31T23:59:59Z",
        "2000-02-29T00:00:00Z", "9999-12-31T23:59:59Z",
    ]) func aDateIsWrittenAsItWasRead(_ text: String) throws {
        let body = #"["\#(text)"]"#
        for dates in [JSONCoding.Dates.iso8601, .iso8601(assuming: .gmt), .format("yyyy-MM-dd'T'HH:mm:ssXXX")] {
            let coding = JSONCoding(dates: dates)
            let read = try coding.decode([Date].self, from: Data(body.utf8))
            #expect(String(decoding: try coding.encode(read), as: UTF8.self) == body, "\(dates)")
            let query: URLQuery = ["at": read[0]]
            #expect(query["at"] == text)
        }
    }

    @Test func aDateOutsideTheYearsOfItsFormIsAnError() throws {
        let last = try #require(try JSONCoding.standard.decode([Date].self, from: Data(#"["9999-12-31T23:59:59Z"]"#.utf8)).first)
        let first = try #require(try JSONCoding.standard.decode([Date].self, from: Data(#"["0000-01-01T00:00:00Z"]"#.utf8)).first)
        let dates = [
            Date(timeIntervalSince1970: .nan), Date(timeIntervalSince1970: .infinity), Date(timeIntervalSince1970: -.infinity),
            Date(timeIntervalSince1970: 1e300), Date(timeIntervalSince1970: 1e14), Date(timeIntervalSince1970: -1e14),
            last.addingTimeInterval(1), first.addingTimeInterval(-1),
        ]
        for date in dates {
            #expect(throws: EncodingError.self) { try JSONCoding.standard.encode([date]) }
            #expect(throws: (any Error).self) { try URLQuery(encoding: ["at": date]) }
            let query: URLQuery = ["at": date]
            #expect(query.isEmpty)
        }
    }

    @Test func aDecimalIsRounded() {
        let number = JSONNumber("0.123456789012345678901234567890123456785")
        #expect(number?.decimalValue == Decimal(string: "0.12345678901234567890123456789012345679"))
        #expect(JSONNumber("-99999999999999999999999999999999999999.5")?.decimalValue == Decimal(string: "-1e38"))
    }

    @Test(arguments: ["1e-400", "1e400", "-1e-400"]) func aNumberBeyondTheRangeOfDoubleIsAnErrorInsideAType(_ text: String) throws {
        struct Price: Decodable, Sendable { var price: Double }
        struct Offer: Decodable, Sendable { var price: JSONValue }
        let body = Data(#"{"price":\#(text)}"#.utf8)
        #expect(throws: DecodingError.self) { try JSONCoding.standard.decode(Price.self, from: body) }
        #expect(throws: DecodingError.self) { try JSONCoding.standard.decode(Offer.self, from: body) }
        #expect(throws: DecodingError.self) {
            try JSONCoding.standard.decode([String: [JSONValue]].self, from: Data(#"{"a":[\#(text)]}"#.utf8))
        }
    }

    @Test func anyJSONKeepsAllDigitsOfItsNumbers() throws {
        let text = #"{"a":123456789012345678901234567890,"b":0.12345678901234567890123}"#
        let json = try JSONCoding.standard.decode(JSONValue.self, from: Data(text.utf8))
        #expect(
            String(decoding: try JSONCoding.standard.encode(json), as: UTF8.self)
                == #"{"a":123456789012345678901234567890,"b":0.12345678901234567890123}"#)
        #expect(json["a"].decimalValue == Decimal(string: "123456789012345678901234567890"))
        #expect(json["c"].decimalValue == nil && JSONNumber("1e300")?.decimalValue == nil)
        #expect(JSONNumber(exactly: Decimal(string: "12345678901234567890.125") ?? 0)?.description == "12345678901234567890.125")
        #expect(JSONNumber(exactly: Decimal.nan) == nil)
    }

    @Test func theNameOfAPropertyMatchesTheEncoder() throws {
        enum Key: String, CodingKey { case userName, name }
        #expect(try JSONCoding.standard.name(of: Key.userName) == "userName")
        #expect(try JSONCoding(keys: .snakeCase).name(of: Key.userName) == "user_name")
        let own = JSONCoding(
            encoder: {
                let encoder = JSONEncoder()
                encoder.keyEncodingStrategy = .custom { _ in Key.name }
                return encoder
            }, decoder: { JSONDecoder() })
        #expect(try own.name(of: Key.userName) == "name")
    }
}
