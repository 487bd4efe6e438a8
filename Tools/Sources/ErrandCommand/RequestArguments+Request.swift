import ArgumentParser
import Errand
import Foundation

extension RequestArguments {
    /// Makes the request that the arguments describe.
    ///
    /// - Parameters:
    ///   - method: the method of the subcommand or of `-X`; `nil` if the body decides.
    ///   - takesPipedBody: whether a body is read from standard input, if that is a pipe or a file and the arguments name no body.
    ///   - authentication: the authentication of the run.
    /// - Throws: `ValidationError` for an invalid argument, which is shown with the usage; ``InvalidURLError``, `FileReadError`.
    func request(method: String?, takesPipedBody: Bool = false, authentication: Authentication? = nil) throws -> Request {
        let items = try requestItems
        if shown.head { try checkHead(method: method, hasMembers: items.contains(where: \.isMember)) }
        try checkMembers(of: items, method: method)
        let content = try content(with: items)
        var url = try httpURL()
        var body = content.dataInQuery ? nil : try content.body(with: items.filter(\.isMember))
        if body == nil, takesPipedBody, !content.dataInQuery, !content.ignoreStdin {
            body = try PipedBody.read(says: shown.showsMessages)
        }
        var query = URLQuery()
        for item in content.query {
            let (name, value) = item.cut(atOctet: UInt8(ascii: "="))
            if let value { query.append(name, value) } else { query.appendFlag(name) }
        }
        for item in items where item.isQuery { query.append(item.name, try item.content()) }
        if content.dataInQuery {
            let data = try content.joinedFormData()
            if !data.isEmpty { url = try url.joined(with: "?" + encodedQuery(data, at: url)) }
        }
        if let file = content.uploadFile, !ContentOptions.isStandardInput(file), url.path.utf8.last == UInt8(ascii: "/") {
            let name = URL(fileURLWithPath: file).lastPathComponent
            url = try url.joined(with: try PathTemplate("/\(name)").resolved().target)
        }
        let name = shown.head ? "HEAD" : method ?? impliedMethod(hasBody: body != nil)
        guard let verb = HTTPRequest.Method(name) else { throw ValidationError("the method '\(name.shownSafely())' is invalid") }
        var request = Request(verb, url: url, query: query, body: body?.body ?? .empty)
        try content.addFields(to: &request, for: body, authentication: authentication ?? self.authentication())
        return request
    }

    /// The data of `-G` as a query: escapes, `&` and `+` stay as they are.
    ///
    /// - Throws: ``InvalidURLError`` for a control character.
    private func encodedQuery(_ data: Data, at url: HTTPURL) throws -> String {
        // The empty fragment keeps white space at the end.
        let text = "\(url.scheme)://\(url.authority)?\(FormData.queryText(data))#"
        return try HTTPURL(pasted: text).query ?? ""
    }

    /// - Throws: `ValidationError` for a URL with credentials or with a misspelt scheme, ``InvalidURLError`` for text that is not a URL.
    func httpURL() throws -> HTTPURL {
        if let problem = NearScheme.problem(of: url) { throw ValidationError("invalid URL: \(problem)") }
        let text = url.trimmingCharacters(in: .whitespacesAndNewlines)
        guard !text.isEmpty else { throw ValidationError("the URL is empty") }
        let parsed: HTTPURL
        do {
            parsed = try HTTPURL(pasted: Self.absolute(text))
        } catch {
            guard error.code == .credentials else { throw error }
            throw ValidationError("invalid URL '\(error.text)': a URL with credentials is not sent. Use -u USER:PASSWORD")
        }
        guard !parsed.host.containsOctet(UInt8(ascii: "=")) else { throw ValidationError(problemOfHostWithEqualsSign) }
        return parsed
    }

    /// The host of most such URLs is an item, and an option has taken the URL.
    private var problemOfHostWithEqualsSign: String {
        let reason = "invalid URL: no host has an equals sign"
        if let option = content.optionWithURL { return "\(reason). \(option) took the URL as its value" }
        guard RequestItem.isNoURL(url), let item = try? RequestItem(url) else { return reason }
        return "\(reason). '\(item.label)' is an item, and the URL is missing"
    }

    /// Refuses `-I` with another method or with a body: `-I` sends HEAD, which changes nothing on the server.
    private func checkHead(method: String?, hasMembers: Bool) throws {
        if let method, !["GET", "HEAD"].contains(method) {
            throw ValidationError(
                "-I sends HEAD and does not go with \(method.shownSafely()). Use -i to see the status and the fields of its response")
        }
        guard content.dataInQuery || !(content.namesBody || hasMembers) else {
            throw ValidationError("-I sends HEAD, which has no body. Leave out the data, or use -i to see the status and the fields")
        }
    }

    private func impliedMethod(hasBody: Bool) -> String {
        if content.dataInQuery { return "GET" }
        return content.uploadFile != nil ? "PUT" : hasBody ? "POST" : "GET"
    }

    /// The name of the file for `-O`: the last part of the URL's path. Percent-encoding is removed if the result is a valid name for a
    /// file.
    ///
    /// - Throws: `ValidationError` if the path ends in a slash.
    func remoteFileName() throws -> String {
        let path = try httpURL().path
        let last = String(path[(path.utf8.lastIndex(of: UInt8(ascii: "/")).map(path.utf8.index(after:)) ?? path.startIndex)...])
        guard !last.isEmpty, last != ".", last != ".." else {
            throw ValidationError("--remote-name needs a URL whose path ends in a name. Use -o FILE")
        }
        // By octets: a slash and a combining mark are one `Character` for Swift, but for the system, the slash is still a separator.
        guard let name = last.removingPercentEncoding, name != ".", name != "..", !name.containsOctet(UInt8(ascii: "/")),
            !name.unicodeScalars.contains(where: { $0.properties.generalCategory == .control || $0.steersTerminal })
        else { return last }
        return name
    }

    /// Adds `http://` to a text without a scheme ([RFC 3986, section 3.1](https://www.rfc-editor.org/rfc/rfc3986#section-3.1)), and
    /// `http://localhost` to a text that begins with a port, or with a colon and a path. A scheme within the query does not count.
    static func absolute(_ url: String) -> String {
        guard let colon = url.utf8.firstIndex(of: UInt8(ascii: ":")) else { return "http://" + url }
        if colon == url.startIndex, !url.hasPrefix("://") {
            return "http://localhost" + (url.hasPrefix(":/") || url == ":" ? String(url.dropFirst()) : url)
        }
        guard url.utf8[colon...].starts(with: "://".utf8) else { return "http://" + url }
        let scheme = url.utf8[..<colon]
        let hasScheme =
            scheme.allSatisfy { byte in
                switch byte | 0x20 {
                case UInt8(ascii: "a")...UInt8(ascii: "z"): true
                default: "0123456789+-.".utf8.contains(byte)
                }
            } && !scheme.isEmpty
        return hasScheme ? url : "http://" + url
    }
}

/// A line of `-H`: `Name: value`, `Name:` or `Name;`.
struct HeaderLine {
    let name: HTTPField.Name
    /// `nil` removes the field.
    let value: String?

    /// - Throws: `ValidationError` for a line of another form.
    init(_ text: String) throws {
        let (before, after) = text.cut(atOctet: UInt8(ascii: ":"))
        let isEmpty = after == nil && before.utf8.last == UInt8(ascii: ";")
        // The text may have a secret: 'Authorization Bearer …'.
        guard after != nil || isEmpty else {
            throw ValidationError("--header has no colon. A field is 'Name: value', 'Name:' or 'Name;'")
        }
        let shown = (isEmpty ? String(before[..<before.utf8.index(before: before.endIndex)]) : before).withoutOuterBlanks
        guard let name = HTTPField.Name(shown) else { throw ValidationError("the field name '\(shown.shownSafely())' is invalid") }
        let value = (isEmpty ? "" : after)?.withoutOuterBlanks
        guard let value, HTTPField.isValidValue(value) else {
            throw ValidationError("--header must be 'Name: value', 'Name:' or 'Name;', on one line")
        }
        if name.canonicalName == "host", value.isEmpty { throw ValidationError("--header can't remove the field Host") }
        self.name = name
        self.value = value.isEmpty && !isEmpty ? nil : value
    }
}

/// A body and its `Content-Type`.
struct Content {
    let body: RequestBody
    let contentType: String?
    /// The boundary of a form with parts.
    var boundary: MultipartBoundary?
    var isJSON: Bool { contentType == "application/json" }
}

extension ContentOptions {
    /// Whether there is an option for a body.
    var namesBody: Bool { !formData.isEmpty || !json.isEmpty || !jsonField.isEmpty || !form.isEmpty || uploadFile != nil }

    /// Whether `-H` names a field.
    func names(_ field: HTTPField.Name) -> Bool {
        header.contains { text in
            guard text != "@-", let lines = try? Self.headerLines(text) else { return false }
            return lines.contains { $0.name == field }
        }
    }

    fileprivate func addFields(to request: inout Request, for content: Content?, authentication: Authentication) throws {
        request.head.headerFields[.userAgent] = Self.value(userAgent ?? "errand/0.1")
        request.head.headerFields[.accept] = content?.isJSON == true ? "application/json" : "*/*"
        request.head.headerFields[.contentType] = content?.contentType
        request.head.headerFields[.referer] = referer.flatMap(Self.value)
        let cookies = cookieText
        if usesCookieJar {
            request.options.givenCookies = cookies.isEmpty ? nil : cookies
        } else if !cookies.isEmpty {
            // The subscript of the fields would make a separate field of each pair.
            request.head.headerFields.append(HTTPField(name: .cookie, value: cookies))
        }
        // As in curl, a number alone is the beginning of the range.
        if let range {
            request.head.headerFields[.range] = "bytes=\(range)" + (range.utf8.allSatisfy("0123456789".utf8.contains) ? "-" : "")
        }
        if case .field(let value) = authentication { request.head.headerFields[.authorization] = value }
        var named: Set<HTTPField.Name> = []
        for line in try header.flatMap(Self.headerLines) {
            if named.insert(line.name).inserted { request.head.headerFields[line.name] = nil }
            if line.name == .cookie { request.options.givenCookies = nil }
            if let value = line.value { request.head.headerFields.append(HTTPField(name: line.name, value: value)) }
        }
        // As curl does: the server can read the form only with the boundary of the form.
        if let boundary = content?.boundary, let own = request.head.headerFields[.contentType],
            MediaType(own)?[parameter: "boundary"] == nil
        {
            request.head.headerFields[.contentType] = "\(own); boundary=\(boundary.text)"
        }
    }

    /// The value of a field; `nil` for an empty text, which sends no field.
    private static func value(_ text: String) -> String? {
        let text = text.withoutOuterBlanks
        return text.isEmpty ? nil : text
    }

    /// The fields of an option `-H`, which may name a file of them.
    private static func headerLines(_ text: String) throws -> [HeaderLine] {
        guard let path = CommandFile.path(in: text) else { return [try HeaderLine(text)] }
        return try CommandFile.read(path).split(whereSeparator: { $0 == 0x0A || $0 == 0x0D }).compactMap { line in
            guard let line = String(validating: line, as: UTF8.self) else {
                throw ValidationError("--header: '\(path.shownSafely())' is not text in UTF-8")
            }
            let isComment = line.utf8.first == UInt8(ascii: "#") && !line.containsOctet(UInt8(ascii: ":"))
            return isComment || line.withoutOuterBlanks.isEmpty ? nil : try HeaderLine(line)
        }
    }

    // MARK: - Bodies

    /// Whether `-T` reads standard input: for `-` and `.`, as in curl.
    static func isStandardInput(_ file: String) -> Bool { file == "-" || file == "." }

    /// The form data with `&` between the parts.
    fileprivate func joinedFormData() throws -> Data { Data(try formData.map { try $0.octets() }.joined(separator: Data("&".utf8))) }

    /// The body that the options and items name. If there is no such option or item, it is `nil`.
    ///
    /// - Parameter members: the items that are members of a JSON body.
    fileprivate func body(with members: [RequestItem]) throws -> Content? {
        let formData = formData
        if let file = formData.first?.streamedFile, formData.count == 1 {
            return Content(body: try Self.file(file), contentType: "application/x-www-form-urlencoded")
        }
        if !formData.isEmpty { return Content(body: .data(try joinedFormData()), contentType: "application/x-www-form-urlencoded") }
        if json.count == 1, let file = CommandFile.path(in: json[0]) {
            return Content(body: try Self.file(file), contentType: "application/json")
        }
        if !json.isEmpty {
            let pieces = try json.map { text in try CommandFile.path(in: text).map(CommandFile.read) ?? Data(text.utf8) }
            return Content(body: .data(Data(pieces.joined())), contentType: "application/json")
        }
        if !jsonField.isEmpty || !members.isEmpty {
            return Content(body: .data(try jsonObject(with: members)), contentType: "application/json")
        }
        if !form.isEmpty {
            let form = try MultipartForm(arguments: form)
            return Content(body: try form.body(), contentType: form.contentType, boundary: form.boundary)
        }
        guard let uploadFile else { return nil }
        return Content(body: Self.isStandardInput(uploadFile) ? .standardInput : try .file(atPath: uploadFile), contentType: nil)
    }

    private static func file(_ path: String) throws -> RequestBody { path == "-" ? .standardInput : try .file(atPath: path) }

    private func jsonObject(with items: [RequestItem]) throws -> Data {
        var members: [String: JSONValue] = [:]
        for field in jsonField {
            if let mark = field.range(of: ":="), !field[..<mark.lowerBound].contains("=") {
                guard let value = try? JSONValue(parsing: field[mark.upperBound...].utf8) else {
                    let name = field[..<mark.lowerBound].shownSafely()
                    throw ValidationError("-j '\(name):=…': the value is not JSON. For a text, write -j \(name)=…")
                }
                members[String(field[..<mark.lowerBound])] = value
            } else {
                let (name, value) = field.cut(atOctet: UInt8(ascii: "="))
                guard let value else { throw ValidationError("--json-field must be name=text or name:=json") }
                members[name] = .string(value)
            }
        }
        for item in items { members[item.name] = try item.member() }
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
        return try encoder.encode(members)
    }
}

extension RequestBody {
    /// Standard input, as it arrives.
    static let standardInput = RequestBody.stream(replay: .oneShot) { _ in StandardInput() }

    private struct StandardInput: BodySource {
        func next() async throws -> Data? { try Terminal.read(upTo: 64 * 1024) }
        func abandon() {}
    }
}
