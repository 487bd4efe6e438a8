public import ErrandCore
internal import ErrandFormats

extension Request {
    /// Returns this request as a `curl` command for any POSIX shell, with placeholders in place of secrets.
    ///
    /// ```swift
    /// print(try request.curl())
    /// // curl -X GET --path-as-is --globoff 'https://api.example/users?token=REDACTED' -H 'User-Agent:' -H 'Accept:'
    /// ```
    ///
    /// The request needs its whole URL. To print a request that is not sent yet, call ``/ErrandCore/HTTPStack/prepared(_:)``, which
    /// adds the stack's parts, such as the base URL. After the exchange, the `request` of the response is the whole request:
    ///
    /// ```swift
    /// print(try await stack.prepared(request).curl())
    /// print(try response.request.curl())
    /// ```
    ///
    /// In `sh`, the command sends the method, the target, the fields and the body of this request. `curl` adds only `Host` and
    /// `Content-Length`. Settings in `~/.curlrc` still apply. Characters that the shell could expand are in single quotes. Field values are
    /// not changed, and may contain control characters. Before you show the text on a terminal, check that you trust the source of the
    /// values.
    ///
    /// Names decide which values are sensitive. The names in ``/ErrandCore/RequestOptions/sensitivity`` apply to fields and query
    /// items. The same names apply to members of JSON, items of a form and parts of a multipart body. A body of another syntax,
    /// such as XML or plain text, is hidden unless `showingSecrets` is true.
    ///
    /// - Bytes that are not plain text are piped through `printf`.
    /// - If the body is a file, the text contains the path, and `curl` reads the file.
    /// - A stream, a body over the limit, and a hidden body are not in the text. The command reads the body from the file `body.bin` in the
    ///   current folder. If there is no such file, the command sends nothing.
    ///
    /// For a HEAD request with a body, `curl` waits for a response body that never arrives.
    ///
    /// - Parameters:
    ///   - pretty: whether each option has its own line. If false, the text is one line, unless the value of a field has a control
    ///     character.
    ///   - showingSecrets: whether the text contains secrets. A text with secrets is itself a credential.
    ///   - bodyLimitBytes: the maximum length of a body in the text, at least 0. Default: 64 KiB. A byte that is not text takes up
    ///     to four characters.
    ///   - arguments: more arguments for `curl`, such as `["--unix-socket", "/run/app.sock"]`, for settings of the connection. Arguments
    ///     are quoted, and not redacted. No arguments by default.
    /// - Throws: ``/ErrandCore/InvalidURLError`` for a request without a host, and for a request that no transport would send.
    public func curl(
        pretty: Bool = false, showingSecrets: Bool = false, bodyLimitBytes: Int = 64 * 1024, arguments: [String] = []
    ) throws(InvalidURLError) -> String {
        precondition(bodyLimitBytes >= 0, "bodyLimitBytes must be at least 0 (is \(bodyLimitBytes))")
        return try CURLText(
            request: self, isPretty: pretty, showsSecrets: showingSecrets, bodyLimitBytes: bodyLimitBytes, arguments: arguments
        ).text()
    }
}

extension RequestFailure {
    /// Returns the request of this failure as a `curl` command, with placeholders in place of secrets.
    ///
    /// ```swift
    /// } catch let failure as any RequestFailure {
    ///     logger.warning("\(failure)\n\(failure.curl() ?? "")")
    /// }
    /// ```
    ///
    /// For the parameters, see ``ErrandCore/Request/curl(pretty:showingSecrets:bodyLimitBytes:arguments:)``.
    ///
    /// - Returns: the command; `nil` if the failure has no request, or a request that no transport would send, such as a request without
    ///   a host.
    public func curl(
        pretty: Bool = false, showingSecrets: Bool = false, bodyLimitBytes: Int = 64 * 1024, arguments: [String] = []
    ) -> String? {
        try? request?.curl(pretty: pretty, showingSecrets: showingSecrets, bodyLimitBytes: bodyLimitBytes, arguments: arguments)
    }
}

private struct CURLText {
    /// The maximum length of an argument, in bytes. Linux accepts up to 128 KiB.
    static let argumentBytes = 100_000
    /// The maximum size, in bytes, of a body for which no version of `curl` sends `Expect: 100-continue`.
    static let expectBytes = 1000

    let request: Request
    let isPretty: Bool
    let showsSecrets: Bool
    let bodyLimitBytes: Int
    let arguments: [String]

    private var sensitivity: Sensitivity { request.options.sensitivity }
    private var separator: String { isPretty ? " \\\n    " : " " }

    func text() throws(InvalidURLError) -> String {
        var parts = try ["curl \(method) --path-as-is --globoff \(Shell.quoted(url()))"]
        if let target = specialTarget { parts.append("--request-target " + Shell.quoted(target)) }
        parts += argumentLines
        let fields = fields
        parts += fields.map { "-H " + Shell.quoted($0.value.isEmpty ? "\($0.name);" : "\($0.name): \($0.value)") }
        var suppressed = ["User-Agent", "Accept"]
        let body = body(separator: separator)
        if let body {
            suppressed.append("Content-Type")
            if (request.body.length ?? .max) > Self.expectBytes { suppressed.append("Expect") }
            parts.append(body.option)
        }
        let names = Set(fields.map { $0.name.lowercased() })
        let position = parts.count - (body == nil ? 0 : 1)
        parts.insert(contentsOf: suppressed.filter { !names.contains($0.lowercased()) }.map { "-H '\($0):'" }, at: position)
        return (body?.source ?? "") + parts.joined(separator: separator) + (body?.redirection ?? "")
    }

    /// The arguments from the caller: each option together with its value.
    private var argumentLines: [String] {
        arguments.reduce(into: []) { lines, argument in
            if lines.isEmpty || argument.utf8.starts(with: "-".utf8) {
                lines.append(Shell.word(argument))
            } else {
                lines[lines.count - 1] += " " + Shell.word(argument)
            }
        }
    }

    // MARK: Head

    private var method: String {
        // `curl` refuses `--head` together with a body.
        if request.method == .head, request.body.isEmpty { return "--head" }
        let name = request.method.rawValue
        let isPlain = name.utf8.allSatisfy { $0.isASCIILetter || $0.isASCIIDigit }
        return "-X " + (isPlain ? name : Shell.quoted(name))
    }

    /// Returns the URL. Throws an error if the target is invalid for a transport.
    private func url() throws(InvalidURLError) -> String {
        let target = request.head.path ?? ""
        guard let authority = request.head.authority, !authority.isEmpty, let scheme = request.head.scheme else {
            throw InvalidURLError(target, .missingHost)
        }
        try request.head.checkForTransport()
        return shown("\(scheme)://\(authority)\(hasSpecialTarget ? "/" : request.writtenTarget)")
    }

    /// Whether the target can't be a part of a URL, as in `OPTIONS *`.
    private var hasSpecialTarget: Bool { request.head.path?.utf8.first.map { !"/?".utf8.contains($0) } ?? false }
    private var specialTarget: String? { hasSpecialTarget ? request.head.path.map(shown) : nil }

    private func shown(_ url: String) -> String { showsSecrets ? url : sensitivity.redactedURL(url) }

    /// The fields, except for the fields of the framing, which depend on the body.
    private var fields: [(name: String, value: String)] {
        request.completedFields.withOneCookie.filter { $0.name != .contentLength && $0.name != .transferEncoding }
            .map { ($0.name.rawName, showsSecrets ? $0.value : sensitivity.shownValue(of: $0)) }
    }

    // MARK: Body

    private struct Body {
        /// The commands that are piped into `curl`, with the pipe character.
        var source = ""
        var option = "--data-binary @-"
        /// The redirection after the command.
        var redirection = ""
    }

    private static let placeholder = Body(redirection: " < body.bin")

    private func body(separator: String) -> Body? {
        guard !request.body.isEmpty else {
            // Requests with these methods declare the length of an empty body (RFC 9110, section 8.6).
            return [.post, .put, .patch].contains(request.method) ? Body(option: "--data-raw ''") : nil
        }
        if let file = request.body.file {
            // The prefix `./` keeps `curl` from reading a path such as `-` as an option or as the standard input.
            let path = (file.path.hasOctetPrefix("-") ? "./" : "") + file.path
            guard let range = file.range else { return Body(option: "--data-binary " + Shell.quoted("@" + path)) }
            return Body(source: "tail -c +\(range.lowerBound + 1) \(Shell.quoted(path)) | head -c \(range.count) | ")
        }
        guard let data = request.body.bufferedData, data.count <= bodyLimitBytes else { return Self.placeholder }
        var bytes = Array(data)
        if !showsSecrets {
            let type = request.completedFields[.contentType].flatMap { MediaType($0) }
            let found = Findings(in: bytes, type: type, sensitivity: sensitivity)
            if found.isHidden { return Self.placeholder }
            bytes = found.edits.applied(to: bytes)
        }
        if let text = literal(bytes) { return Body(option: "--data-raw " + Shell.quoted(text)) }
        let commands = Shell.printed(bytes, limitBytes: Self.argumentBytes)
        if let only = commands.first, commands.count == 1 { return Body(source: only + " | ") }
        return Body(source: "{ " + commands.map { $0 + ";" }.joined(separator: separator) + " } | ")
    }

    /// Returns the bytes as text if a terminal shows the text unchanged; otherwise `nil`.
    private func literal(_ bytes: [UInt8]) -> String? {
        guard bytes.count <= Self.argumentBytes, let text = String(validating: bytes, as: UTF8.self) else { return nil }
        return text.unicodeScalars.allSatisfy { isPretty && $0 == "\n" || !$0.isControl } ? text : nil  // octets: a scalar
    }
}

/// Words of a POSIX shell.
private enum Shell {
    /// Returns `text` as one word in which the shell expands nothing. Octets are compared, because a quote with a combining character is
    /// also a quote.
    static func quoted(_ text: String) -> String {
        var bytes = [UInt8(ascii: "'")]
        bytes.reserveCapacity(text.utf8.count + 2)
        for byte in text.utf8 {
            if byte == UInt8(ascii: "'") { bytes += "'\\''".utf8 } else { bytes.append(byte) }
        }
        bytes.append(UInt8(ascii: "'"))
        return String(decoding: bytes, as: UTF8.self)
    }

    /// Returns `text` as one word, in quotes only if the shell could expand something.
    static func word(_ text: String) -> String {
        let isPlain = text.utf8.allSatisfy { $0.isASCIILetter || $0.isASCIIDigit || "-_./:,@%+".utf8.contains($0) }
        return isPlain && !text.isEmpty ? text : quoted(text)
    }

    /// Returns commands that print `bytes`. No argument is longer than the limit.
    static func printed(_ bytes: [UInt8], limitBytes: Int) -> [String] {
        var commands: [String] = []
        var format: [UInt8] = []
        func close() {
            commands.append("printf '" + String(decoding: format, as: UTF8.self) + "'")
            format = []
        }
        for byte in bytes {
            if format.count > limitBytes - 4 { close() }
            switch byte {
            case 0x0A: format += "\\n".utf8
            case 0x0D: format += "\\r".utf8
            case 0x09: format += "\\t".utf8
            case UInt8(ascii: "%"): format += "%%".utf8
            case UInt8(ascii: "\\"): format += "\\\\".utf8
            // `printf` would read a format that begins with a hyphen as an option.
            case UInt8(ascii: "-") where format.isEmpty: format += octal(byte)
            case 0x20...0x7E where byte != UInt8(ascii: "'"): format.append(byte)
            default: format += octal(byte)
            }
        }
        close()
        return commands
    }

    private static func octal(_ byte: UInt8) -> [UInt8] {
        [UInt8(ascii: "\\")] + [byte >> 6, byte >> 3 & 7, byte & 7].map { $0 + UInt8(ascii: "0") }
    }
}
