import Errand
import Foundation

/// One request of a test: what the client sends, what the server sends, and what is expected.
struct CacheTestRequest: Sendable {
    /// The position in the test, from 1.
    let number: Int
    let members: [String: JSONValue]

    init(_ members: [String: JSONValue], number: Int) { (self.members, self.number) = (members, number) }

    private func json(_ name: String) -> JSONValue { members[name] ?? .null }
    private func isTrue(_ name: String) -> Bool { json(name).boolValue == true }
    private func list(_ name: String) -> [JSONValue] { json(name).arrayValue ?? [] }

    var expectedType: String? { json("expected_type").stringValue }
    /// The time to wait after the response.
    var pause: Duration? { isTrue("pause_after") ? .seconds(3) : nil }
    /// Whether the server closes the connection instead of a response.
    var isCutOff: Bool { isTrue("disconnect") }

    // MARK: Sending

    /// Returns the request.
    ///
    /// - Parameters:
    ///   - base: the URL of the server.
    ///   - uuid: the identifier of the run of the test.
    ///   - serverNow: the time of the server at its last response.
    /// - Throws: `InvalidURLError`; ``CacheTestFailure`` for a method or a field that can't be sent.
    func request(base: String, test: CacheTest, uuid: String, serverNow: Int64?) throws -> Request {
        var url = "\(base)/test/\(uuid)"
        if let name = json("filename").stringValue { url += "/\(name)" }
        if let query = json("query_arg").stringValue { url += "?\(query)" }
        guard let method = HTTPRequest.Method(json("request_method").stringValue ?? "GET") else {
            throw CacheTestFailure(isSetup: true, message: "the method of request \(number) can't be sent")
        }
        var request = try Request(method, url: url)
        if let body = json("request_body").stringValue { request.body = .data(Data(body.utf8)) }
        for field in list("request_headers") {
            let (name, value) = (field[0].stringValue ?? "", field[1])
            try add(name, text(of: value, for: name, now: serverNow), to: &request)
        }
        try add("Test-Name", test.name, to: &request)
        try add("Test-ID", uuid, to: &request)
        try add("Req-Num", "\(number)", to: &request)
        if json("redirect").stringValue == "manual" { request.options.redirect = .off }
        if let mode = json("cache").stringValue.flatMap({ Self.modes[$0] }) { request.options.cache = mode }
        request.deadline = Deadline(after: .seconds(10))
        return request
    }

    /// The modes of a browser's cache, as `fetch` names them.
    private static let modes: [String: OptionOverride<CachePolicy.Mode>] = [
        "no-cache": .use(.revalidate), "no-store": .off, "reload": .use(.reloadEverywhere), "force-cache": .use(.storedElseLoad),
        "only-if-cached": .use(.storedOnly),
    ]

    private func add(_ name: String, _ value: String, to request: inout Request) throws {
        let value = value.trimmingCharacters(in: .whitespacesAndNewlines)
        guard let name = HTTPField.Name(name), HTTPField.isValidValue(value) else {
            throw CacheTestFailure(isSetup: true, message: "the field \(name) of request \(number) can't be sent")
        }
        request.headers.append(HTTPField(name: name, value: value))
    }

    /// The text of a value in a definition. A number in a field with a date is a delta from the time of the server.
    private func text(of value: JSONValue, for name: String, now: Int64?) -> String {
        guard let delta = value.intValue, let now, Self.dateFields.contains(name.lowercased()) else {
            return value.stringValue ?? value.description
        }
        let seconds = (Double(now) / 1000 + Double(delta)).rounded(.down)
        let date = HTTPDate(secondsSinceEpoch: Int64(seconds)).description
        let isObsolete = list("rfc850date").contains { $0.stringValue?.lowercased() == name.lowercased() }
        return isObsolete ? Self.obsoleteForm(of: date) : date
    }

    private static let dateFields: Set = ["date", "expires", "last-modified", "if-modified-since", "if-unmodified-since"]

    /// `Fri, 01 Mar 2030 12:00:00 GMT` as `Friday, 01-Mar-30 12:00:00 GMT`.
    private static func obsoleteForm(of date: String) -> String {
        let parts = date.split(separator: " ")
        let days = ["Mon": "Monday", "Tue": "Tuesday", "Wed": "Wednesday", "Thu": "Thursday", "Fri": "Friday", "Sat": "Saturday"]
        guard parts.count == 6 else { return date }
        return "\(days[String(parts[0].prefix(3))] ?? "Sunday"), \(parts[1])-\(parts[2])-\(parts[3].suffix(2)) \(parts[4]) GMT"
    }

    // MARK: Checking the response

    /// - Parameters:
    ///   - check: the name of the check, which the definition may count as part of the preparation.
    private func expect(_ isRight: Bool, _ check: String?, _ message: @autoclosure () -> String) throws(CacheTestFailure) {
        guard !isRight else { return }
        let isSetup = isTrue("setup") || check == nil || list("setup_tests").contains { $0.stringValue == check }
        throw CacheTestFailure(isSetup: isSetup, message: "request \(number): \(message())")
    }

    /// Checks what the client got.
    func check(_ response: CacheTestResponse, uuid: String) throws(CacheTestFailure) {
        let numbers = response.value(of: "Request-Numbers")?.split(separator: " ") ?? []
        guard Set(numbers).count == numbers.count else { throw CacheTestFailure(isSetup: true, message: "retry") }
        try checkReuse(response)
        try checkStatus(response.status)
        try checkFields(response)
        try checkInterim(response.interim)
        if json("check_body").boolValue != false { try checkBody(response, uuid: uuid) }
    }

    private func checkReuse(_ response: CacheTestResponse) throws(CacheTestFailure) {
        let count = response.number(of: "Server-Request-Count")
        let shown = count.map { "the response is the server's response to its request \($0)" } ?? "the server has not made the response"
        switch expectedType {
        case "cached":
            let isReused = count.map { $0 < number } ?? (response.status == 304)
            try expect(isReused, "expected_type", "the stored response was not used: \(shown)")
        case "not_cached": try expect(count == number, "expected_type", "a stored response was used: \(shown)")
        default: break
        }
    }

    private func checkStatus(_ status: Int) throws(CacheTestFailure) {
        if let expected = members["expected_status"] {
            guard let code = expected.intValue else { return }
            try expect(status == code, "expected_status", "the status is \(status), expected: \(code)")
        } else if let code = list("response_status").first?.intValue {
            try expect(status == code, nil, "the status is \(status), expected: \(code)")
        } else if status == 999 {
            try expect(false, "expected_type", "the request was not conditional on the stored response")
        } else {
            try expect(status == 200, nil, "the status is \(status), expected: 200")
        }
    }

    private func checkFields(_ response: CacheTestResponse) throws(CacheTestFailure) {
        let check = "expected_response_headers"
        for expected in list(check) {
            let parts = expected.arrayValue ?? [expected]
            guard let name = parts.first?.stringValue else { continue }
            let value = response.value(of: name)
            let shown = "\(name) is \(value.map { "'\($0)'" } ?? "missing")"
            switch (parts.count, parts.dropFirst().first?.stringValue) {
            case (1, _): try expect(value != nil, check, shown)
            case (3..., "="):
                let other = parts[2].stringValue ?? ""
                try expect(value == response.value(of: other), check, "\(shown), expected: the value of \(other)")
            case (3..., ">"):
                let least = parts[2].intValue ?? 0
                try expect(value.flatMap { Int($0) }.map { $0 > least } ?? false, check, "\(shown), expected: more than \(least)")
            default:
                var text = text(of: parts[1], for: name, now: response.number(of: "Server-Now").map(Int64.init))
                if isTrue("magic_locations"), ["location", "content-location"].contains(name.lowercased()) {
                    let base = response.value(of: "Server-Base-Url") ?? ""
                    text = text.isEmpty ? base : "\(base)/\(text)"
                }
                try expect(value == text, check, "\(shown), expected: '\(text)'")
            }
        }
        for name in list("expected_response_headers_missing").compactMap(\.stringValue) {
            let value = response.value(of: name)
            try expect(value == nil, "expected_response_headers_missing", "\(name) is '\(value ?? "")', expected: no such field")
        }
    }

    private func checkInterim(_ received: [HTTPResponse]) throws(CacheTestFailure) {
        let check = "expected_interim_responses"
        guard members[check] != nil else { return }
        let expected = list(check)
        try expect(
            received.map(\.status.code) == expected.map { $0[0].intValue ?? 0 }, check,
            "the informational responses are \(received.map(\.status.code))")
        for (response, wanted) in zip(received, expected) {
            for field in wanted[1].arrayValue ?? [] {
                guard let name = HTTPField.Name(field[0].stringValue ?? ""), let text = field[1].stringValue else { continue }
                let value = response.headerFields[name]
                try expect(value == text, check, "\(name) of an informational response is '\(value ?? "")', expected: '\(text)'")
            }
        }
    }

    private func checkBody(_ response: CacheTestResponse, uuid: String) throws(CacheTestFailure) {
        let text = response.body
        if let expected = members["expected_response_text"] {
            guard let expected = expected.stringValue else { return }
            try expect(text == expected, "expected_response_text", "the body is '\(text)', expected: '\(expected)'")
        } else if let expected = json("response_body").stringValue {
            try expect(text == expected, nil, "the body is '\(text)', expected: '\(expected)'")
        } else if ![204, 304].contains(response.status), json("request_method").stringValue != "HEAD" {
            try expect(text == uuid, nil, "the body is '\(text)', expected: '\(uuid)'")
        }
    }

    // MARK: Checking the request

    /// Checks what the server got.
    ///
    /// - Parameters:
    ///   - entry: the record of the server.
    ///   - response: what the client got.
    func check(_ entry: JSONValue, _ response: CacheTestResponse) throws(CacheTestFailure) {
        func value(_ name: String) -> String? {
            guard let value = entry["request_headers"].objectValue?[name.lowercased()] else { return nil }
            return value.stringValue ?? value.arrayValue?.compactMap(\.stringValue).joined(separator: ", ")
        }
        switch expectedType {
        case "not_cached":
            let seen = entry["request_num"].intValue
            try expect(seen == number, "expected_type", "the server got request \(seen.map { "\($0)" } ?? "without a number") instead")
        case "etag_validated": try expect(value("If-None-Match") != nil, "expected_type", "the server got no If-None-Match")
        case "lm_validated": try expect(value("If-Modified-Since") != nil, "expected_type", "the server got no If-Modified-Since")
        default: break
        }
        for expected in list("expected_request_headers") {
            let name = expected.stringValue ?? expected[0].stringValue ?? ""
            let shown = "the server got \(value(name).map { "\(name): \($0)" } ?? "no \(name)")"
            let isRight = expected[1].stringValue.map { value(name) == $0 } ?? (value(name) != nil)
            try expect(isRight, "expected_request_headers", shown)
        }
        for name in list("expected_request_headers_missing").compactMap(\.stringValue) {
            try expect(value(name) == nil, "expected_request_headers_missing", "the server got \(name): \(value(name) ?? "")")
        }
        if let method = json("expected_method").stringValue {
            let seen = entry["request_method"].stringValue ?? ""
            try expect(seen == method, "expected_method", "the server got the method \(seen), expected: \(method)")
        }
        for field in entry["response_headers"].arrayValue ?? [] {
            guard let name = field[0].stringValue, !["date", "set-cookie"].contains(name.lowercased()) else { continue }
            let sent = (field[1].arrayValue ?? [field[1]]).map { $0.stringValue ?? $0.description }.joined(separator: ", ")
            let got = response.value(of: name)
            try expect(got == sent, nil, "the server sent \(name): \(sent), and the client got \(got ?? "no such field")")
        }
    }
}
