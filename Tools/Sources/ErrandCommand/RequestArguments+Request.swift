import ArgumentParser
import Errand
import Foundation

extension RequestArguments {
    /// What the arguments ask for.
    ///
    /// - Throws: `ValidationError` for what can't be understood, which ends in the usage; ``InvalidURLError``, `FileReadError`.
    func request(method: String?) throws -> Request {
        var body = try content()
        var query = URLQuery()
        for item in self.query {
            let (name, value) = split(item, at: "=")
            if let value { query.append(name, value) } else { query.appendFlag(name) }
        }
        var url = try HTTPURL(Self.absolute(self.url))
        if dataInQuery, let bytes = body?.body.bytes {
            url = try url.joined(with: "?" + String(decoding: bytes, as: UTF8.self))
            body = nil
        }
        if let uploadFile, uploadFile != "-", url.path.hasSuffix("/") {
            let name = URL(fileURLWithPath: uploadFile).lastPathComponent
            url = try url.joined(with: try PathTemplate("/\(name)").resolved().target)
        }
        guard let verb = HTTPRequest.Method(method ?? impliedMethod(hasBody: body != nil)) else {
            throw ValidationError("'\(method ?? "")' is no method")
        }
        var request = Request(verb, url: url, query: query, body: body?.body ?? .empty)
        try addFields(to: &request, contentType: body?.contentType)
        return request
    }

    private func impliedMethod(hasBody: Bool) -> String {
        if head { return "HEAD" }
        if dataInQuery { return "GET" }
        return uploadFile != nil ? "PUT" : hasBody ? "POST" : "GET"
    }

    /// With `http://` before what begins with no scheme (RFC 3986, 3.1). One within the query is not the URL's own.
    static func absolute(_ url: String) -> String {
        guard let colon = url.utf8.firstIndex(of: UInt8(ascii: ":")), url.utf8[colon...].starts(with: "://".utf8) else {
            return "http://" + url
        }
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

    private func addFields(to request: inout Request, contentType: String?) throws {
        request.head.headerFields[.userAgent] = userAgent ?? "errand/0.1"
        request.head.headerFields[.accept] = json != nil || !jsonField.isEmpty ? "application/json" : "*/*"
        request.head.headerFields[.contentType] = contentType
        request.head.headerFields[.referer] = referer
        request.head.headerFields[.cookie] = cookie
        if let range { request.head.headerFields[.range] = "bytes=\(range)" }
        if let user { request.head.headerFields[.authorization] = "Basic " + Data(user.utf8).base64EncodedString() }
        var named: Set<HTTPField.Name> = []
        for line in header {
            let (text, value) = split(line, at: ":")
            guard let name = HTTPField.Name(text.trimmingCharacters(in: .whitespaces)) else {
                throw ValidationError("'\(text)' is no field's name")
            }
            guard let value = value?.trimmingCharacters(in: .whitespaces), HTTPField.isValidValue(value) else {
                throw ValidationError("--header wants 'Name: value', on one line")
            }
            if named.insert(name).inserted { request.head.headerFields[name] = nil }
            if !value.isEmpty { request.head.headerFields.append(HTTPField(name: name, value: value)) }
        }
    }

    private func split(_ text: String, at separator: Character) -> (String, String?) {
        guard let mark = text.firstIndex(of: separator) else { return (text, nil) }
        return (String(text[..<mark]), String(text[text.index(after: mark)...]))
    }

    // MARK: - Bodies

    private struct Content {
        let body: RequestBody
        let contentType: String?
    }

    private func content() throws -> Content? {
        if let dataBinary { return Content(body: try bodyOrFile(dataBinary), contentType: "application/x-www-form-urlencoded") }
        if let json { return Content(body: try bodyOrFile(json), contentType: "application/json") }
        if !jsonField.isEmpty { return Content(body: .data(try jsonObject()), contentType: "application/json") }
        if !form.isEmpty {
            let form = try MultipartForm(parts: form)
            return Content(body: try form.body(), contentType: form.contentType)
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
        let data = path == "-" ? try FileHandle.standardInput.readToEnd() ?? Data() : try Data(contentsOf: URL(fileURLWithPath: path))
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
                    throw ValidationError("'\(field[mark.upperBound...])' is no JSON")
                }
                members[String(field[..<mark.lowerBound])] = value
            } else {
                let (name, value) = split(field, at: "=")
                guard let value else { throw ValidationError("--json-field wants name=text or name:=value") }
                members[name] = .string(value)
            }
        }
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
        return try encoder.encode(members)
    }

    // MARK: - The transport

    func transport() throws -> AsyncHTTPClientTransport {
        var configuration = AsyncHTTPClientTransport.Configuration()
        configuration.connectTimeout = .seconds(connectTimeout)
        configuration.allowsHTTP2 = !http1
        configuration.decompresses = compressed
        if let cacert { configuration.tls.extraRootsPEMFiles = [cacert] }
        if let cert, let key { configuration.tls.clientCertificate = .init(chainPEMFile: cert, keyPEMFile: key) }
        configuration.proxy = try proxy.map(Self.proxy)
        do {
            return try AsyncHTTPClientTransport(configuration)
        } catch {
            throw ValidationError("a certificate or a key can't be read: \(error)")
        }
    }

    private static func proxy(_ text: String) throws -> ProxySettings {
        guard let parts = URLComponents(string: absolute(text)), let host = parts.host, !host.isEmpty else {
            throw ValidationError("--proxy wants a URL")
        }
        switch parts.scheme {
        case "http":
            let credentials = parts.user.map { (user: $0, password: parts.password ?? "") }
            return .http(host: host, port: parts.port ?? 1080, credentials: credentials)
        case "socks5", "socks5h":
            guard parts.user == nil else { throw ValidationError("a SOCKS proxy with a password is not supported yet") }
            return .socks5(host: host, port: parts.port ?? 1080)
        case let scheme: throw ValidationError("--proxy: '\(scheme ?? "")' is neither http nor socks5")
        }
    }
}

extension RequestBody {
    /// What comes in, as it comes.
    static let standardInput = RequestBody.stream(replay: .oneShot) { _ in StandardInput() }

    private struct StandardInput: BodySource {
        func next() async throws -> Data? {
            var buffer = Data(count: 64 * 1024)
            let count = buffer.withUnsafeMutableBytes { read(0, $0.baseAddress, $0.count) }
            guard count >= 0 else { throw FileReadError(path: "standard input", operation: "read", code: errno) }
            return count == 0 ? nil : buffer.prefix(count)
        }
        func abandon() {}
    }
}
