import ArgumentParser
import Errand
import Foundation

extension RequestArguments {
    /// What the arguments ask for.
    ///
    /// - Parameters:
    ///   - method: that of the subcommand or of `-X`; `nil` for the one that follows from what is sent.
    ///   - takesPipedBody: whether a body is read from standard input, where that is a pipe or a file and the arguments name no body.
    ///   - authentication: who asks.
    /// - Throws: `ValidationError` for what can't be understood, which ends in the usage; ``InvalidURLError``, `FileReadError`.
    func request(method: String?, takesPipedBody: Bool = false, authentication: Authentication? = nil) throws -> Request {
        if shown.head { try checkHead(method: method) }
        var url = try httpURL()
        var body = try content.body()
        if body == nil, takesPipedBody, !content.dataInQuery { body = try PipedBody.read(warns: shown.showsMessages) }
        var query = URLQuery()
        for item in content.query {
            let (name, value) = split(item, at: "=")
            if let value { query.append(name, value) } else { query.appendFlag(name) }
        }
        if content.dataInQuery, let bytes = body?.body.bufferedData {
            url = try url.joined(with: "?" + encodedQuery(String(decoding: bytes, as: UTF8.self), at: url))
            body = nil
        }
        if let file = content.uploadFile, file != "-", url.path.hasSuffix("/") {
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
    private func encodedQuery(_ data: String, at url: HTTPURL) throws -> String {
        // The empty fragment keeps white space at the end.
        let text = "\(url.scheme)://\(url.authority)?\(data.replacing("#", with: "%23"))#"
        return try HTTPURL(pasted: text).query ?? ""
    }

    /// - Throws: `ValidationError` for a URL with credentials, ``InvalidURLError`` for text that is not a URL.
    func httpURL() throws -> HTTPURL {
        do {
            return try HTTPURL(pasted: Self.absolute(url.trimmingCharacters(in: .whitespacesAndNewlines)))
        } catch {
            guard error.reason == .credentials else { throw error }
            throw ValidationError("\(error). Use -u USER:PASSWORD")
        }
    }

    /// `-I` sends HEAD, and never anything that may change something on the server.
    private func checkHead(method: String?) throws {
        if let method, !["GET", "HEAD"].contains(method) {
            throw ValidationError(
                "-I sends HEAD and does not go with \(method.shownSafely()). Use -i to see the status and the fields of its response")
        }
        guard content.dataInQuery || !content.namesBody else {
            throw ValidationError("-I sends HEAD, which has no body. Leave out the data, or use -i to see the status and the fields")
        }
    }

    private func impliedMethod(hasBody: Bool) -> String {
        if content.dataInQuery { return "GET" }
        return content.uploadFile != nil ? "PUT" : hasBody ? "POST" : "GET"
    }

    /// The name of the file for `-O`: the last part of the URL's path, without its escapes where a file can be named so.
    ///
    /// - Throws: `ValidationError` if the path ends in a slash.
    func remoteFileName() throws -> String {
        let path = try httpURL().path
        let last = String(path[(path.lastIndex(of: "/").map(path.index(after:)) ?? path.startIndex)...])
        guard !last.isEmpty, last != ".", last != ".." else {
            throw ValidationError("--remote-name needs a URL whose path ends in a name. Use -o FILE")
        }
        guard let name = last.removingPercentEncoding, name != ".", name != "..", !name.contains("/"),
            !name.unicodeScalars.contains(where: { $0.properties.generalCategory == .control })
        else { return last }
        return name
    }

    /// With `http://` before what begins with no scheme ([RFC 3986, section 3.1](https://www.rfc-editor.org/rfc/rfc3986#section-3.1)), and
    /// with `http://localhost` before what begins with a port, or with a colon and a path. A scheme within the query is not the URL's own.
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

/// A body and what its `Content-Type` is.
struct Content {
    let body: RequestBody
    let contentType: String?
    /// That of a form with parts.
    var boundary: MultipartBoundary?
    var isJSON: Bool { contentType == "application/json" }
}

private func split(_ text: String, at separator: Character) -> (String, String?) {
    guard let mark = text.firstIndex(of: separator) else { return (text, nil) }
    return (String(text[..<mark]), String(text[text.index(after: mark)...]))
}

extension ContentOptions {
    /// Whether there is an option for a body.
    var namesBody: Bool {
        !data.isEmpty || !dataRaw.isEmpty || !dataUrlencode.isEmpty || dataBinary != nil || json != nil || !jsonField.isEmpty
            || !form.isEmpty || uploadFile != nil
    }

    /// Whether `-H` names a field.
    func names(_ field: HTTPField.Name) -> Bool {
        header.contains { HTTPField.Name(split($0, at: ":").0.trimmingCharacters(in: .whitespaces)) == field }
    }

    fileprivate func addFields(to request: inout Request, for content: Content?, authentication: Authentication) throws {
        request.head.headerFields[.userAgent] = userAgent ?? "errand/0.1"
        request.head.headerFields[.accept] = content?.isJSON == true ? "application/json" : "*/*"
        request.head.headerFields[.contentType] = content?.contentType
        request.head.headerFields[.referer] = referer
        request.head.headerFields[.cookie] = cookie
        if let range { request.head.headerFields[.range] = "bytes=\(range)" }
        if case .field(let value) = authentication { request.head.headerFields[.authorization] = value }
        var named: Set<HTTPField.Name> = []
        for line in header {
            let (text, value) = split(line, at: ":")
            guard let name = HTTPField.Name(text.trimmingCharacters(in: .whitespaces)) else {
                throw ValidationError("the field name '\(text.shownSafely())' is invalid")
            }
            guard let value = value?.trimmingCharacters(in: .whitespaces), HTTPField.isValidValue(value) else {
                throw ValidationError("--header must be 'Name: value', on one line")
            }
            if named.insert(name).inserted { request.head.headerFields[name] = nil }
            if !value.isEmpty { request.head.headerFields.append(HTTPField(name: name, value: value)) }
        }
        // The form can be read by its own boundary alone. As curl does it.
        if let boundary = content?.boundary, let own = request.head.headerFields[.contentType],
            MediaType(own)?[parameter: "boundary"] == nil
        {
            request.head.headerFields[.contentType] = "\(own); boundary=\(boundary.text)"
        }
    }

    // MARK: - Bodies

    /// `nil` if no option names one.
    fileprivate func body() throws -> Content? {
        if let dataBinary { return Content(body: try bodyOrFile(dataBinary), contentType: "application/x-www-form-urlencoded") }
        if let json { return Content(body: try bodyOrFile(json), contentType: "application/json") }
        if !jsonField.isEmpty { return Content(body: .data(try jsonObject()), contentType: "application/json") }
        if !form.isEmpty {
            let form = try MultipartForm(arguments: form)
            return Content(body: try form.body(), contentType: form.contentType, boundary: form.boundary)
        }
        if let uploadFile {
            return Content(body: uploadFile == "-" ? .standardInput : try .file(atPath: uploadFile), contentType: nil)
        }
        let pieces = try data.map(dataOrFile) + dataRaw + dataUrlencode.map(percentEncoded)
        guard !pieces.isEmpty else { return nil }
        return Content(body: .text(pieces.joined(separator: "&")), contentType: "application/x-www-form-urlencoded")
    }

    private func bodyOrFile(_ text: String) throws -> RequestBody {
        guard text.hasPrefix("@") else { return .text(text) }
        let path = String(text.dropFirst())
        return path == "-" ? .standardInput : try .file(atPath: path)
    }

    /// As curl has it: a file's line ends are left out.
    private func dataOrFile(_ text: String) throws -> String {
        guard text.hasPrefix("@") else { return text }
        let path = String(text.dropFirst())
        let file = path == "-" ? FileHandle.standardInput : FileHandle(forReadingAtPath: path)
        guard let file, let data = try? file.readToEnd() ?? Data() else { throw ValidationError("cannot read '\(path.shownSafely())'") }
        return String(decoding: data.filter { $0 != 0x0A && $0 != 0x0D && $0 != 0 }, as: UTF8.self)
    }

    private func percentEncoded(_ text: String) -> String {
        let (name, value) = split(text, at: "=")
        guard let value else { return URLQuery([.init(name: text, value: nil)]).encoded }
        let encoded = URLQuery([.init(name: value, value: nil)]).encoded
        return name.isEmpty ? encoded : name + "=" + encoded
    }

    private func jsonObject() throws -> Data {
        var members: [String: JSONValue] = [:]
        for field in jsonField {
            if let mark = field.range(of: ":="), !field[..<mark.lowerBound].contains("=") {
                guard let value = try? JSONDecoder().decode(JSONValue.self, from: Data(field[mark.upperBound...].utf8)) else {
                    throw ValidationError("'\(field[mark.upperBound...])' is not JSON")
                }
                members[String(field[..<mark.lowerBound])] = value
            } else {
                let (name, value) = split(field, at: "=")
                guard let value else { throw ValidationError("--json-field must be name=text or name:=json") }
                members[name] = .string(value)
            }
        }
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
        return try encoder.encode(members)
    }
}

extension RequestBody {
    /// Standard input, as it comes.
    static let standardInput = RequestBody.stream(replay: .oneShot) { _ in StandardInput() }

    private struct StandardInput: BodySource {
        func next() async throws -> Data? { try Terminal.read(upTo: 64 * 1024) }
        func abandon() {}
    }
}
