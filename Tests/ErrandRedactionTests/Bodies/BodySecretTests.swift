import Errand
import ErrandTesting
import Logging
import TestSupport
import Testing

/// A log, a `curl` command and a recording hide the same secrets of a body.
@Suite(.timeLimit(.minutes(5))) struct BodySecretTests {
    /// Secrets begin with what is looked for, so that a part of one shows as well.
    struct Body: Sendable, CustomTestStringConvertible {
        let testDescription: String
        let type: String?
        let bytes: [UInt8]
        /// What is no secret, and stays.
        let plain: [String]
        /// Whether it is hidden as a whole, because its syntax is unknown.
        let isHidden: Bool

        init(_ name: String, _ type: String?, _ text: String, isHidden: Bool = false, plain: String...) {
            (testDescription, self.type, bytes, self.plain) = (name, type, Array(text.utf8), plain)
            self.isHidden = isHidden
        }

        init(_ name: String, _ type: String?, utf16 text: String, isBigEndian: Bool = false, isHidden: Bool = true) {
            (testDescription, self.type, plain, self.isHidden) = (name, type, [], isHidden)
            bytes = BodySecretTests.utf16(text, isBigEndian: isBigEndian)
        }
    }

    private static func part(_ head: String, _ content: String) -> String { "--b\r\n\(head)\r\n\r\n\(content)\r\n" }
    private static func value(_ name: String, _ content: String) -> String {
        part("Content-Disposition: form-data; name=\"\(name)\"", content)
    }

    private static func utf16(_ text: String, isBigEndian: Bool = false) -> [UInt8] {
        text.utf16.flatMap { unit in
            let octets = [UInt8(truncatingIfNeeded: unit), UInt8(truncatingIfNeeded: unit >> 8)]
            return isBigEndian ? octets.reversed() : octets
        }
    }

    static let bodies: [Body] = syntaxes + parts + texts

    private static let syntaxes: [Body] = [
        Body(
            "JSON", "application/json", #"{"user":"joe","password":"s3cr3t-1","list":[{"api_key":7,"n":1}]}"#, plain: #""user":"joe""#,
            #""n":1"#),
        Body("JSON of another type", "text/plain", #" {"user":"joe","password":"s3cr3t-1"}"#, plain: #""user":"joe""#),
        Body(
            "JSON in JSON", "application/json", #"{"Message":"{\"password\":\"s3cr3t-1\",\"user\":\"joe\"}","n":1}"#,
            plain: #"{\"password\":\"REDACTED\",\"user\":\"joe\"}"#),
        Body(
            "JSON in JSON in JSON", "application/json", #"{"a":" [\"{\\\"token\\\":\\\"s3cr3t-1\\\",\\\"user\\\":\\\"joe\\\"}\"]"}"#,
            plain: "joe"),
        Body(
            "URLs in JSON", nil, #"{"next":"https:\/\/joe:s3cr3t-1@a.example\/?page=2&token=s3cr3t-2","n":1}"#, plain: #""n":1"#, "page=2"),
        Body("a URL that is a name in JSON", nil, #"{"https://joe:s3cr3t-1@a.example/":1,"mail":"joe@a.example"}"#, plain: "joe@a.example"),
        Body("broken JSON", "application/json", #"{"user":"joe","password":"s3cr3t-1","x":tru, "token":"s3cr3t-2"}"#, plain: "joe"),
        Body("broken JSON with a URL", "application/json", #"{"user":"joe","x": https:\/\/joe:s3cr3t-1@a.example\/"#, plain: "joe"),
        Body("a quote in a password", "application/json", #"{"user":"joe","password":"x"s3cr3t-1"}"#, plain: #""user":"joe""#),
        Body("a quote and a comma in a password", "application/json", #"{"user":"joe","password":"x", s3cr3t-1"}"#, plain: "joe"),
        Body("a quote and a text in a password", "application/json", #"{"user":"joe","password":"x","s3cr3t-1"}"#, plain: "joe"),
        Body("a number with a tail", "application/json", #"{"user":"joe","password":123s3cr3t-1,"n":1}"#, plain: "joe"),
        Body("null with a tail", "application/json", #"{"user":"joe","password":nulls3cr3t-1}"#, plain: "joe"),
        Body("a list with a tail", "application/json", #"{"user":"joe","token":["a"]s3cr3t-1}"#, plain: "joe"),
        Body("texts that are added", "text/javascript", #"{"user":"joe","token":"a"+"s3cr3t-1"}"#, isHidden: true),
        Body(
            "lines of text", "text/plain", "User: joe\r\nAuthorization: Bearer s3cr3t-1\r\npassword=s3cr3t-2\nX-Api-Key : 's3cr3t-3' joe\n",
            isHidden: true),
        Body(
            "a URL in text", "text/html", "<p>user joe, see <a href='https://joe:s3cr3t-1@a.example/x'>x</a></p>", isHidden: true),
        Body("an escaped URL in a script", "text/javascript", #"open("https:\/\/joe:s3cr3t-1@a.example\/x", 1)"#, isHidden: true),
        Body(
            "XML", "application/xml",
            "<a><user>joe</user><ns:Password x='y'>s3cr3t-1<b/>s3cr3t-2</ns:Password><c token=\"s3cr3t-3\"/><n>1</n></a>", isHidden: true),
        Body(
            "XML with an empty element", "text/xml", "<a><token value='s3cr3t-1'/><password/><user>joe</user></a>", isHidden: true),
        Body("XML that does not end", "text/xml", "<a><user>joe</user><password>\ns3cr3t-1", isHidden: true),
        Body(
            "XML with names that begin alike", "application/xml",
            "<a><secret><secretName>db</secretName><value>s3cr3t-1</value></secret><user>joe</user></a>", isHidden: true),
        Body(
            "XML with the end of another element", "application/xml",
            "<a><secret>x</secretName>s3cr3t-1</secret><user>joe</user></a>", isHidden: true),
        Body(
            "XML with a longer name first", "text/xml",
            "<a><token><token_type>Bearer</token_type><value>s3cr3t-1</value></token><user>joe</user></a>", isHidden: true),
        Body(
            "XML with an element in one of its name", nil,
            "<a><token><token a='>'>x</token><token/><TOKEN b='/' /><v>s3cr3t-1</v></token><user>joe</user></a>", isHidden: true),
        Body(
            "XML with end tags that are none", "text/xml",
            "<a><password><![CDATA[</password>s3cr3t-1]]><!-- </password> -->s3cr3t-2<?a </password> ?>s3cr3t-3</password ><n>1</n></a>",
            isHidden: true),
        Body("HTML with two cases", "text/html", "<p><Password>\ns3cr3t-1\n</password>joe</p>", isHidden: true),
        Body("HTML whose tags do not match", "text/html", "<token><token>\ns3cr3t-1</token> joe", isHidden: true),
        Body(
            "a form", FormURLEncoded.mediaType, "user=joe&password=s3cr3t-1&refresh%5Ftoken=s3cr3t+2&n=1", plain: "user=joe", "n=1"),
        Body(
            "URLs in a form", FormURLEncoded.mediaType,
            "next=https%3A%2F%2Fa.example%2F%3Faccess_token%3Ds3cr3t-1&back=https://joe:s3cr3t-2@a.example&mail=joe@a.example",
            plain: "mail=joe@a.example", "a.example"),
        Body(
            "a URL that is escaped twice", FormURLEncoded.mediaType,
            "next=https%3A%2F%2Fa.example%2F%3Fu%3Dhttps%253A%252F%252Fb.example%252F%253Ftoken%253Ds3cr3t-1&n=1", plain: "n=1"),
        Body(
            "multipart", "multipart/form-data; boundary=b",
            value("user", "joe") + value("password", "s3cr3t-1") + part("Content-Type: application/json", #"{"token":"s3cr3t-2"}"#)
                + part("Content-Type: text/plain", "token=s3cr3t-3") + "--b--\r\n"),
        Body(
            "multipart with a URL in the last part", "multipart/form-data; boundary=b",
            value("user", "joe") + value("url", "https://joe:s3cr3t-1@a.example/") + "--b--", plain: "joe", "a.example"),
        Body(
            "multipart with the boundary inside a value", "multipart/form-data; boundary=b",
            value("password", "s3cr3t-1 --b\r\ns3cr3t-2\r\n --b\r\n\r\ns3cr3t-3\r\n--b-1\r\n\r\ns3cr3t-4\r\n--bb\r\n\r\ns3cr3t-5") + "--b--"
        ),
        Body(
            "multipart with a delimiter that only some readers see", "multipart/form-data; boundary=b",
            value("password", "s3cr3t-1\n--b\n\ns3cr3t-2\r\n--b\ns3cr3t-3") + value("user", "joe") + "--b--", plain: "joe"),
        Body(
            "multipart in multipart", "multipart/mixed; boundary=b",
            part(
                "Content-Type: multipart/form-data; boundary=b-1",
                "--b-1\r\nContent-Disposition: form-data; name=token\r\n\r\ns3cr3t-1\r\n--b-1--") + "--b--"),
        Body(
            "an event stream", "text/event-stream; charset=utf-8",
            "event: x\ndata: {\"token\":\"s3cr3t-1\",\"user\":\"joe\"}\r\n\r\ndata: token=s3cr3t-2\ndata: \"password\": \"s3cr3t-3\"\n\n",
            plain: "event: x", #""user":"joe""#),
        Body(
            "lines of JSON", "application/x-ndjson", "{\"token\":\"s3cr3t-1\"}\n{\"user\":\"joe\"}\nno JSON, token=s3cr3t-2\n",
            plain: #"{"user":"joe"}"#),
        Body("text in UTF-16", "text/plain", utf16: "user: joe\npassword: s3cr3t-1\n"),
        Body("JSON in UTF-16", "application/json", utf16: #"{"user":"joe","password":"s3cr3t-1"}"#, isHidden: false),
        Body(
            "JSON that is called a form", FormURLEncoded.mediaType, #"{"user":"joe & co","password":"s3cr3t-1"}"#, plain: "joe & co"),
        Body(
            "XML that is called a form", FormURLEncoded.mediaType, "<a><user>joe</user><password>s3cr3t-1&s3cr3t-2</password></a>",
            isHidden: true),
        Body("lines that are called a form", FormURLEncoded.mediaType, "user: joe\npassword: s3cr3t-1\n", isHidden: true),
        Body("a line behind a form", FormURLEncoded.mediaType, "user=joe\npassword: s3cr3t-1\nn=1", isHidden: true),
        Body(
            "JSON in a form", FormURLEncoded.mediaType, #"payload={"password":"s3cr3t-1","user":"joe"}&n=1&token=s3cr3t-2"#, isHidden: true),
        Body(
            "JSON in a form with an ampersand", FormURLEncoded.mediaType,
            #"n=1&payload={"user":"joe & co","password":"s3cr3t-1"}&t%6Fken=s3cr3t-2"#, isHidden: true),
        Body("a secret in a form with an ampersand", FormURLEncoded.mediaType, #"n=1&token={"a":"b&s3cr3t-1"}"#, isHidden: true),
        Body(
            "escaped JSON in a form", FormURLEncoded.mediaType,
            "payload=%7B%22password%22%3A%22s3cr3t-1%22%2C+%22user%22%3A%22joe%22%7D&user=joe",
            plain: "payload=%7B%22password%22%3A%22REDACTED%22%2C+%22user%22%3A%22joe%22%7D&user=joe"),
        Body("escaped JSON that is a form's name", FormURLEncoded.mediaType, "n=1&%7B%22password%22%3A%22s3cr3t-1%22%7D=", plain: "n=1"),
        Body("escaped XML in a form", FormURLEncoded.mediaType, "x=%3Ca%3E%3Ctoken%3Es3cr3t-1%3C%2Ftoken%3E%3C%2Fa%3E&n=1", plain: "n=1"),
        Body("a field in a form", FormURLEncoded.mediaType, "h=Authorization%3A+Bearer+s3cr3t-1&n=1", plain: "n=1"),
        Body(
            "a multipart body with text around its parts", "multipart/form-data; boundary=b",
            "password=s3cr3t-1\r\nsee https://joe:s3cr3t-2@a.example/\r\n" + value("user", "joe") + "--b--\r\npassword: s3cr3t-3\r\n",
            plain: "joe"),
        Body(
            "secrets in the fields of a part", "multipart/form-data; boundary=b",
            part(
                "Content-Disposition: form-data; name=\"user\"; filename=\"x?token=s3cr3t-1\"\r\nX-Api-Key: s3cr3t-2\r\nX-Auth:\r\n s3cr3t-3\r\n"
                    + "Content-Location: https://joe:s3cr3t-4@a.example/", "joe") + "--b--", plain: "joe"),
        Body(
            "a part without an empty line", "multipart/form-data; boundary=b",
            value("user", "joe")
                + "--b\r\npassword: s3cr3t-1\r\n--b\r\nContent-Disposition: form-data; name=\"token\"\r\ns3cr3t-2\r\n--b--",
            plain: "joe"),
    ]

    /// Heads that name a part more than one way, or badly.
    private static let parts: [Body] = [
        "Content-Disposition: form-data;\r\n name=\"password\"", "Content-Disposition: form-data; name*=UTF-8''pass%77ord",
        "Content-Disposition : form-data; name=\"password\"", "Content-Disposition: form-data; name=\"a\"; name=\"password\"",
        "Content-Disposition: form-data; name=\"a\"\r\nContent-Disposition: form-data; name=\"password\"",
        "content-disposition: form-data; filename=\"a\\\"; name=\"password\"", "Content-Disposition: form-data; name*0=password",
    ].map { head in
        Body(
            "a part named by \(head.debugDescription)", "multipart/form-data; boundary=b",
            part(head, "s3cr3t-1") + value("n", "joe") + "--b--", plain: "joe")
    }

    private static let texts: [Body] = [
        Body("a multipart body without a boundary", "multipart/form-data", value("password", "s3cr3t-1") + "--b--", isHidden: true),
        Body(
            "a multipart body with another boundary", "multipart/form-data; boundary=c", value("password", "s3cr3t-1") + "--b--",
            isHidden: true),
        Body(
            "a multipart body with bare returns", "multipart/form-data; boundary=b",
            "--b\rContent-Disposition: form-data; name=\"password\"\r\rs3cr3t-1\r--b--"),
        Body("a multipart body without a type", nil, value("user", "joe") + value("password", "s3cr3t-1") + "--b--", plain: "joe"),
        Body("XML in UTF-16", "application/xml", utf16: "<a><user>joe</user><password>s3cr3t-1</password></a>"),
        Body(
            "XML in UTF-16 with a mark", "text/xml; charset=utf-16", utf16: "\u{FEFF}<a><password>s3cr3t-1</password></a>",
            isBigEndian: true),
        Body("a form in UTF-16", FormURLEncoded.mediaType, utf16: "user=joe&password=s3cr3t-1", isBigEndian: true),
        Body("text in UTF-16 with few zeros", "text/plain; charset=utf-16le", utf16: "パスワード、パスワード、パスワード、パスワード、password: s3cr3t-1"),
        Body(
            "an event of several lines", "text/event-stream",
            "data: {\"user\":\"joe\",\"token\":\r\ndata: {\"a\":\r\n: token=s3cr3t-3\r\ndata: \"s3cr3t-1\"}}\r\n\r\ndata:{\"token\":\ndata:\"s3cr3t-2\"}\n\ndata: {\"n\":1}\n\n",
            plain: "joe", "data: {\"n\":1}"),
        Body(
            "JSON that is called an event stream", "text/event-stream", "{\"user\":\"joe\",\"token\":\n\n{\"a\":\"s3cr3t-1\"}}",
            plain: "joe"),
        Body(
            "records with line ends", "application/json-seq",
            "\u{1E}{\"user\":\"joe\",\"token\":\n{\"value\":\"s3cr3t-1\"}}\n\u{1E}{\n  \"token\": [\n    \"s3cr3t-2\"\n  ]\n}\n\u{1E}{\"n\":1}\n"
        ),
        Body(
            "lines of JSON with line ends", "application/x-ndjson",
            "{\n  \"token\": [\n    \"s3cr3t-1\"\n  ],\n  \"user\": \"joe\"\n}\n{\"n\":1}\n", plain: #""user": "joe""#, #"{"n":1}"#),
        Body(
            "a broken line of JSON", "application/x-ndjson", "{\"user\":\"joe\"}\nx\n\"token\": [\n{\"value\":\"s3cr3t-1\"}\n]\n",
            plain: "joe"),
        Body(
            "JSON in JSON in JSON as a string", "application/json",
            #"{"m":"\"{\\\"password\\\":\\\"s3cr3t-1\\\",\\\"user\\\":\\\"joe\\\"}\""}"#, plain: "joe"),
        Body("a string of JSON", nil, #""{\"password\":\"s3cr3t-1\",\"user\":\"joe\"}""#, plain: "joe"),
        Body("JSON in JSON behind a mark", nil, "{\"m\":\"\u{FEFF} {\\\"password\\\":\\\"s3cr3t-1\\\"}\",\"user\":\"joe\"}", plain: "joe"),
        Body("JSON behind a mark", nil, "\u{FEFF}{\"user\":\"joe\",\"token\":\n{\"value\":\"s3cr3t-1\"}}", plain: "joe"),
        Body(
            "JSON in JSON behind a word", "application/json", #"{"m":"x {\"password\":\"s3cr3t-1\"}","user":"joe"}"#,
            plain: #""user":"joe""#),
        Body(
            "a URL with escaped slashes in JSON", "application/json",
            #"{"m":"see \\\/\\\/joe:s3cr3t-1@a.example\\\/ now","n":1}"#, plain: #""n":1"#),
        Body(
            "a secret before the query of a URL in JSON", "application/json",
            #"{"m":"https://a.example/&password=s3cr3t-1","p":"/x;token=s3cr3t-2?q=1","n":1}"#, plain: #""n":1"#),
        Body("a form in JSON", "application/json", #"{"m":"user=joe&password=s3cr3t-1","n":1}"#, plain: "user=joe&", #""n":1"#),
        Body("a field in JSON", "application/json", #"{"m":"A: b\r\nAuthorization: Bearer s3cr3t-1\r\n","n":1}"#, plain: #""n":1"#),
        Body("XML in JSON", "application/json", #"{"m":"<a><password>s3cr3t-1</password>joe</a>","n":1}"#, plain: #""n":1"#),
        Body(
            "an escaped URL in JSON", "application/json", #"{"m":"https%3A%2F%2Fa.example%2F%3Ftoken%3Ds3cr3t-1","n":1}"#, plain: #""n":1"#),
        Body("JSON in a call", "text/javascript", "cb({\"token\":\n{\"value\":[\n\"s3cr3t-1\"]}})\nuser()", isHidden: true),
        Body("arrows", "text/html", "<pre>{\"user\"=>\"joe\", \"password\"=>\"s3cr3t-1\"}</pre>", isHidden: true),
        Body("an escaped equals sign", "text/html", "<a href='/x?a=%3Faccess_token%3Ds3cr3t-1%26user%3Djoe'>joe</a>", isHidden: true),
        Body("an attribute on two lines", "text/xml", "<a password=\n's3cr3t-1'/><n>1</n>", isHidden: true),
        Body("a folded field", "text/plain", "Authorization:\r\n Bearer s3cr3t-1\r\nUser: joe\r\n", isHidden: true),
        Body(
            "a block of YAML", "application/yaml",
            "a:\n  password: |\n    s3cr3t-1\n    s3cr3t-2\n  user: joe\n  tokens:\n    - s3cr3t-3\n", isHidden: true),
        Body("quotes in a value", "text/plain", "password=x\"s3cr3t-1\ntoken='x''s3cr3t-2'\nuser: joe", isHidden: true),
        Body("three quotes", "text/plain", "password = \"\"\"s3\"s3cr3t-1\n\"s3cr3t-2\"\"\"\nuser: joe", isHidden: true),
        Body("a control octet in text", "text/plain", "\u{1}password=s3cr3t-1\nuser: joe", isHidden: true),
        Body("a zero in XML", "application/xml", "<a>\0<password>s3cr3t-1</password>joe</a>", isHidden: true),
    ]

    private func hidesSecrets(_ text: String, _ body: Body, _ place: String) {
        let text = String(String.UnicodeScalarView(text.unicodeScalars.filter { $0 != "\0" }))
        let leaks = text.contains("s3c")
        #expect(!leaks, "\(place): \(text)")
    }

    private func recorded(_ body: Body, bodyLimitBytes: Int = 1 << 20) async throws -> (log: HARLog, file: String) {
        let folder = try TestFolder("recording")
        let recording = try Recording(atPath: folder.file("a.har"), mode: .all, bodyLimitBytes: bodyLimitBytes)
        let fields: HTTPFields = body.type.map { [.contentType: $0] } ?? [:]
        var request = try request(.post, body: .data(Data(body.bytes)))
        request.head.headerFields = fields
        let stub = StubTransport(Stub().responds(.data(Data(body.bytes), headers: fields)))
        _ = try await stub.record(on: recording).send(request).body.collect()
        try recording.save()
        let file = try folder.read("a.har")
        return (try HARLog(fileContent: file), String(decoding: file, as: UTF8.self))
    }

    /// The text of a body that may be written as base64.
    private func text(_ text: String?, _ encoding: String?) -> String {
        guard let text, encoding == "base64", let data = Data(base64Encoded: text) else { return text ?? "" }
        return String(decoding: data, as: UTF8.self)
    }

    @Test(arguments: bodies) func logCommandAndRecordingHideTheSameSecrets(_ body: Body) async throws {
        let fields: HTTPFields = body.type.map { [.contentType: $0] } ?? [:]
        var request = try request(.post, body: .data(Data(body.bytes)))
        request.head.headerFields = fields

        let command = try request.curl(pretty: true)
        hidesSecrets(command, body, "curl")

        let (logger, lines) = recordingLogger()
        let stub = StubTransport(Stub().responds(.data(Data(body.bytes), headers: fields)))
        _ = try await stub.log(to: logger, detail: .body(limitBytes: 4096), curl: true).send(request).body.collect()
        hidesSecrets(lines.everything, body, "log")

        let (log, file) = try await recorded(body)
        hidesSecrets(file, body, "file")
        let data = try #require(log.entries[0].request.postData)
        let content = log.entries[0].response.content
        #expect((data.incomplete == .hidden) == body.isHidden && (log.entries[0].response.incomplete == .hidden) == body.isHidden)
        #expect(command.hasSuffix(" < body.bin") == body.isHidden, "\(command)")
        if body.isHidden { #expect(data.text == nil && content.text == nil) }
        for text in [text(data.text, data.encoding), text(content.text, content.encoding)] {
            hidesSecrets(text, body, "recording")
            for plain in body.plain { #expect(text.contains(plain), "\(text)") }
            // All hide the same in the same way.
            if body.plain != [], !command.contains("printf") {
                #expect(command.contains(text.replacing("'", with: "'\\''")), "\(command) and \(text)")
            }
        }
    }

    @Test(arguments: bodies) func secretsAreHiddenAtEveryCut(_ body: Body) async throws {
        let type = body.type.flatMap { MediaType($0) }
        for count in 0...body.bytes.count {
            let front = Array(body.bytes.prefix(count))
            let found = Findings(in: front, type: type, sensitivity: .standard, isCut: count < body.bytes.count, keepsBinary: true)
            hidesSecrets(String(decoding: found.edits.applied(to: front), as: UTF8.self), body, "\(count) bytes")
        }
        for limitBytes in stride(from: 1, to: body.bytes.count, by: 11) {
            let (log, file) = try await recorded(body, bodyLimitBytes: limitBytes)
            hidesSecrets(file, body, "\(limitBytes) bytes")
            let content = log.entries[0].response.content
            hidesSecrets(text(content.text, content.encoding), body, "\(limitBytes) bytes")
        }
    }

    /// A recording is redacted again where it is compared.
    @Test(arguments: bodies) func aRedactedBodyIsUnchangedByRedaction(_ body: Body) {
        let type = body.type.flatMap { MediaType($0) }
        let once = Findings(in: body.bytes, type: type, sensitivity: .standard).edits.applied(to: body.bytes)
        let twice = Findings(in: once, type: type, sensitivity: .standard).edits.applied(to: once)
        #expect(String(decoding: twice, as: UTF8.self) == String(decoding: once, as: UTF8.self))
        #expect(once != body.bytes)
    }

    @Test(
        arguments: [
            ("application/json", #"{"m":"{\"token\":\"s3cr3t/Value\"}"}"#), ("application/json", #"{"password":"s3cr3t/Value"}"#),
            ("application/json", #"{"see":"https://joe:s3cr3t%2FValue@a.example/"}"#),
            (FormURLEncoded.mediaType, "next=https%3A%2F%2Fa.example%2F%3Ftoken%3Ds3cr3t%252FValue"),
            ("text/event-stream", "data: {\"token\":\"s3cr3t/Value\"}\n\n"),
            ("multipart/form-data; boundary=b", value("token", "s3cr3t/Value") + "--b--"),
        ]) func aSecretOfTheRequestBodyIsReplacedInTheResponse(_ type: String, _ text: String) async throws
    {
        let folder = try TestFolder("recording")
        let recording = try Recording(atPath: folder.file("a.har"), mode: .all)
        var request = try request(.post, body: .text(text))
        request.head.headerFields[.contentType] = type
        let stub = StubTransport(Stub().responds(.status(.ok, text: #"["you sent s3cr3t/Value, or s3cr3t%2FValue"]"#)))
        _ = try await stub.record(on: recording).send(request).body.collect()
        try recording.save()
        let content = try HARLog(fileContent: folder.read("a.har")).entries[0].response.content
        #expect(content.text == #"["you sent REDACTED, or REDACTED"]"#)
    }

    @Test(
        arguments: [
            ("application/json", #"{"next":"https://a.example/?page=2","mail":"mailto:joe@a.example","to":"joe@a.example"}"#),
            ("application/json", #"{"grant_type":"urn:ietf:params:oauth:token-type:access_token","scope":"token:read secret:write"}"#),
            ("application/json", #"{"m":"[1] {x: 1} <b> a=b&c=d","n":"\"{\\\"user\\\":\\\"joe\\\"}\"","o":"code: 42, 100%"}"#),
            ("application/json", #"{"token":null,"password":"","n":[1,{}],"m":"bXk+Secret/c3Q=="}"#),
            (FormURLEncoded.mediaType, #"{"user":"joe","n":1}"#),
            (FormURLEncoded.mediaType, "scope=token:read&u=urn%3Atoken%3Ax&q=a%2Bb+c&%7B%22a%22%3A1%7D=\n"),
            ("text/event-stream", "data: {\"user\":\ndata: \"joe\"}\n\nevent: token\nid: 1\nretry: 5\n:\n\ndata: 7\n\n"),
            ("application/json-seq", "\u{1E}{\"a\":\n1}\n\u{1E}[]\n"), ("application/x-ndjson", "{\"a\":\n1}\n[]\n{}\n"),
            ("multipart/form-data; boundary=b", value("user", "joe") + part("A: b", "c") + "--b--\r\n"),
            (nil, value("user", "joe") + "--b--"), (nil, #""a""#), ("application/json", "7"), ("text/plain", " \n"), (nil, ""),
        ] as [(String?, String)]) func aBodyWithoutASecretIsUnchanged(_ type: String?, _ text: String)
    {
        let bytes = Array(text.utf8)
        let edits = Findings(in: bytes, type: type.flatMap { MediaType($0) }, sensitivity: .standard).edits
        #expect(edits.isEmpty, "\(String(decoding: edits.applied(to: bytes), as: UTF8.self))")
    }

    /// Also without a name that seems secret.
    @Test(
        arguments: [
            ("text/plain", "user: joe\n  and more\nsee: [a,\nb]"), ("text/plain", "sorry"), ("text/html", "<p>joe</p>"),
            ("text/xml", "<a><tok>1</tok></a>"), ("image/svg+xml", "<svg/>"), ("application/yaml", "a: 1"), (nil, "a <token && b\nnext()"),
            (nil, "--b\nno multipart body"), (FormURLEncoded.mediaType, #"payload={"user":"joe & co"}&n=1"#),
            (FormURLEncoded.mediaType, "user: joe"), ("application/json", "<p>joe</p>"), (nil, "[INFO] joe"),
            ("multipart/form-data; boundary=c", value("user", "joe") + "--b--"), ("multipart/form-data", "joe"),
            ("text/plain; charset=utf-16le", "joe"),
        ] as [(String?, String)]) func textOfAnUnknownSyntaxIsHiddenAsAWhole(_ type: String?, _ text: String)
    {
        for bytes in [Array(text.utf8), Self.utf16(text), Self.utf16("\u{FEFF}" + text, isBigEndian: true)] {
            for keepsBinary in [false, true] {
                let type = type.flatMap { MediaType($0) }
                if keepsBinary, bytes.contains(0), type?.mayBeText == false { continue }
                let found = Findings(in: bytes, type: type, sensitivity: .standard, keepsBinary: keepsBinary)
                let shown = String(decoding: found.edits.applied(to: bytes), as: UTF8.self)
                // JSON in UTF-16 is JSON that breaks off.
                if type?.isJSON == true, bytes.contains(0) {
                    #expect(!shown.contains("joe"))
                } else {
                    #expect(found.isHidden && found.values.isEmpty, "\(shown)")
                    #expect(!shown.contains("j"), "\(shown)")
                }
            }
        }
    }

    private static let marks: @Sendable (Int) -> String = { "a" + String(repeating: "\u{300}\u{316}", count: $0) }

    /// Runs of marks, which Swift compares in quadratic time: as values, as names, in URLs and in nested texts.
    @Test(
        arguments: [
            ("text/xml", "<", ">x</a>"), ("text/xml", "<token>&lt;", "</token>"), ("text/plain", "token=", ""), ("text/plain", "", ": x"),
            ("application/json", #"{"next":"/?token="#, #""}"#), ("application/json", #"{"next":"https://u:"#, #"@a.example/"}"#),
            ("application/json", #"{"a":"token="#, #""}"#), (FormURLEncoded.mediaType, "token=", ""),
            (FormURLEncoded.mediaType, "a=token%3D", ""),
            (FormURLEncoded.mediaType, "next=https://a/?token=", ""), ("text/event-stream", "data: token=", "\n\n"),
            ("text/plain", "https://u:", "@a.example/ @"), ("multipart/form-data; boundary=b", part("A: b", "token="), "--b--"),
        ]) func marksAreReadByWorkInProportionToTheirBytes(_ type: String, _ front: String, _ back: String)
    {
        let growth = growth(of: 1_500, making: { Array((front + Self.marks($0) + back).utf8) }) { bytes in
            _ = Findings(in: bytes, type: MediaType(type), sensitivity: .standard)
        }
        #expect(growth < 30, "quadratic work grows 64 times")
    }

    /// A combining mark makes another `Character` of the sign before it, and no other octet.
    @Test(
        arguments: [
            ("application/json", "{\"u\":\"/\u{301}x?token=S3cret\"}"), ("application/json", "{\"u\":\"a:\u{301}b, token=\u{301}S3cret\"}"),
            (FormURLEncoded.mediaType, "a=1&\u{301}token=S3cret&token=\u{301}S3cret"), ("text/plain", "a;\u{301}token=S3cret"),
            ("text/plain", "token=\u{301}S3cret"), ("text/xml", "<token>\u{301}S3cret</token>"),
            ("text/event-stream", "data:\u{301} token=S3cret\n\n"), ("application/json", "{\"token\":\"\u{301}S3cret\"}"),
            ("multipart/form-data; boundary=b", value("token", "\u{301}S3cret") + "--b--"),
        ]) func aMarkAfterASignHidesNoSecret(_ type: String, _ text: String)
    {
        let bytes = Array(text.utf8)
        let shown = Findings(in: bytes, type: MediaType(type), sensitivity: .standard).edits.applied(to: bytes)
        let isShown = shown.firstRange(of: Array("S3cret".utf8)) != nil
        #expect(!isShown, "\(String(decoding: shown, as: UTF8.self))")
    }

    @Test func anEscapedSecretWithAMarkIsLearned() {
        let inURL = Sensitivity.standard.secretValues(inURL: "/?token=a+\u{301}b")
        let isDecoded = inURL.contains { Array($0.utf8) == Array("a \u{301}b".utf8) }
        #expect(isDecoded, "\(inURL)")
    }

    /// What stands in them by chance must not change what is replayed.
    @Test func bytesThatAreNotTextAreRecordedUnchanged() async throws {
        let image = Body("image", "image/png", "token=s3cr3t-1")
        #expect(try await recorded(image).log.entries[0].response.content.text == "token=s3cr3t-1")
        let bytes = [0, 1, 2] + Array("token=s3cr3t-1 //joe:s3cr3t-2@a.example".utf8)
        for type in [nil, "application/octet-stream", "text/plain", "image/png"] {
            let type = type.flatMap { MediaType($0) }
            #expect(Findings(in: bytes, type: type, sensitivity: .standard, keepsBinary: true).edits.isEmpty)
            #expect(!Findings(in: bytes, type: type, sensitivity: .standard).edits.isEmpty)
        }
    }

    @Test(
        arguments: [
            "token=a&", "token: a\n", "<token>", "<token>\n", "<token ", "<token 'a\"", "<token a=1 />", "</token", "<token></token>",
            "<token><token></token>", "<token><!--", "<token><![CDATA[", "<tokens></tokens", "<token><?", "//a:b@c ",
            "//a:b", "\\/\\/a:b@", "[{\"a\":\"//b@c\"},", "{\"token\":\"a\"}\n", "data: token=a\n", "&u=https%3A%2F%2Fa%3Ftoken%3Db",
            "\\\\\\/", "@", "token: [", "token:\n", "\"token\":\n{", "token=\"\"\"", "token='a'b", " - token: a\n  b\n", "a=", "a={&",
            "&{\"a\"",
            "%7B%22a%22", "%2525", "é:", "token:'", "a=a%3D", "token%3D", "[\"a=a%3D&", "\"\\\"", "data: {\"a\":\n", "x\n{\"a\":\n",
            "\u{1E}[", "{\"token\":\"a\"b",
            "--b\r\nContent-Type: a\r\n\r\n", "--b\r\nContent-Disposition: a; name=\r\n",
        ]) func theWorkIsLinear(_ unit: String)
    {
        for type in [
            nil, FormURLEncoded.mediaType, "text/event-stream", "application/json", "application/x-ndjson", "multipart/a; boundary=b",
        ] {
            let type = type.flatMap { MediaType($0) }
            for isCut in [false, true] {
                let growth = growth(of: 80, making: { Array(String(repeating: unit, count: $0).utf8) }) { bytes in
                    _ = Findings(in: bytes, type: type, sensitivity: .standard, isCut: isCut)
                }
                #expect(growth < 30, "quadratic work grows 64 times")
            }
        }
    }

    /// Forms and JSON within one another, deeper than is looked into.
    @Test func formsWithinJSONNeedLittleStack() async {
        for depth in 0..<14 {
            let text = (0..<depth).reduce(#"{"token":"s3cr3t"}"#) { text, level in
                level % 2 == 0
                    ? FormURLEncoded.encode([("a", text)])
                    : "[\"" + text.replacing("\\", with: "\\u005c").replacing("\"", with: "\\u0022") + "\"]"
            }
            let isDone = await onSmallStack {
                let found = Findings(
                    in: Array(text.utf8), type: MediaType(depth % 2 == 1 ? FormURLEncoded.mediaType : "a/b"), sensitivity: .standard)
                let shown = found.edits.applied(to: Array(text.utf8))
                return !String(decoding: shown, as: UTF8.self).contains("s3c")
            }
            #expect(isDone, "\(depth)")
        }
    }

    @Test func deepNestingNeedsLittleStack() async {
        var json = #"{"token":"s3cr3t"}"#
        for _ in 0..<8 { json = "[\"" + json.replacing("\\", with: "\\u005c").replacing("\"", with: "\\u0022") + "\"]" }
        let heads = (0..<7).map { "--b\($0)\r\nContent-Type: multipart/x; boundary=b\($0 + 1)\r\n\r\n" }
        let text = heads.joined() + "--b7\r\nContent-Type: application/json\r\n\r\n" + json
        let isDone = await onSmallStack {
            let found = Findings(in: Array(text.utf8), type: MediaType("multipart/x; boundary=b0"), sensitivity: .standard)
            return found.values == ["s3cr3t"]
        }
        #expect(isDone)
    }
}
