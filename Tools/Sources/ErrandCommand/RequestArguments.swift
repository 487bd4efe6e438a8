import ArgumentParser

/// What a request is made of, in curl's words where curl has them.
struct RequestArguments: ParsableArguments {
    @Argument(help: "An http or https URL. Without a scheme, http is meant.") var url: String

    // What is sent
    @Option(name: [.customShort("H"), .long], help: "A field, 'Name: value'; 'Name:' leaves it out. Again for more.") var header: [String] =
        []
    @Option(name: [.short, .long], help: "A query item, 'name=value'. Again for more.") var query: [String] = []
    @Option(name: [.short, .long], help: "A form's data, 'name=value', or @FILE, or @- for standard input. Joined by &.")
    var data: [String] = []
    @Option(help: "As --data, but @ means nothing.") var dataRaw: [String] = []
    @Option(help: "Data as it is, or @FILE, or @-. A file is read while it is sent.") var dataBinary: String?
    @Option(help: "As --data, with the value percent-encoded.") var dataUrlencode: [String] = []
    @Option(help: "JSON, or @FILE, or @-.") var json: String?
    @Option(name: [.customShort("j"), .customLong("json-field")], help: "A member of a JSON object: name=text, or name:=value.")
    var jsonField: [String] = []
    @Option(
        name: [.customShort("F"), .customLong("form")],
        help: "A part of a multipart form: name=value, or name=@FILE[;type=TYPE][;filename=NAME].")
    var form: [String] = []
    @Option(name: [.customShort("T"), .customLong("upload-file")], help: "A file to PUT, or - for standard input.") var uploadFile: String?
    @Flag(name: [.customShort("G"), .customLong("get")], help: "Put the data into the query, and GET.") var dataInQuery = false
    @Option(name: [.customShort("u"), .customLong("user")], help: "USER:PASSWORD, sent as Basic.") var user: String?
    @Option(name: [.customShort("A"), .customLong("user-agent")], help: "The User-Agent field.") var userAgent: String?
    @Option(name: [.customShort("e"), .customLong("referer")], help: "The Referer field.") var referer: String?
    @Option(name: [.customShort("b"), .customLong("cookie")], help: "The Cookie field: 'name=value; …'.") var cookie: String?
    @Option(name: [.customShort("r"), .customLong("range")], help: "Bytes, as 0-99 or 5-.") var range: String?
    @Flag(help: "Ask for gzip or deflate, and decode it.") var compressed = false

    // How
    @Flag(name: [.customShort("L"), .customLong("location")], help: "Follow redirects.") var followsRedirects = false
    @Option(name: .customLong("max-redirs"), help: "How many redirects are followed (20).") var maxRedirects = 20
    @Option(help: "How often a request that failed in passing is sent again (0).") var retry = 0
    @Option(
        name: [.customShort("m"), .customLong("max-time"), .customLong("timeout")],
        help: "Seconds for the whole, body and retries included.")
    var maxTime: Double?
    @Option(name: .customLong("connect-timeout"), help: "Seconds for connecting (10).") var connectTimeout: Double = 10
    @Option(name: [.customShort("x"), .customLong("proxy")], help: "http://[USER:PASSWORD@]HOST:PORT or socks5://HOST:PORT.") var proxy:
        String?
    @Option(help: "A PEM file of authorities to trust beside the system's.") var cacert: String?
    @Option(help: "A PEM file with the client's certificate and its chain.") var cert: String?
    @Option(help: "A PEM file with the client's key.") var key: String?
    @Flag(name: .customLong("http1.1"), help: "HTTP/1.1 alone.") var http1 = false
    @Flag(name: .customLong("http2"), help: "HTTP/2 where TLS agrees on it. The default.") var http2 = false

    // What is shown
    @Option(name: [.short, .long], help: "A file for the body, which appears there when it is whole; - for standard output.") var output:
        String?
    @Flag(name: [.short, .long], help: "Status and fields before the body.") var include = false
    @Flag(name: [.customShort("I"), .customLong("head")], help: "HEAD: status and fields alone.") var head = false
    @Option(name: [.customShort("D"), .customLong("dump-header")], help: "A file for status and fields; - for standard output.")
    var dumpHeader: String?
    @Flag(help: "Show the request as a curl command for sh, without secrets, and send nothing.") var curl = false
    @Option(help: "A file for what was exchanged, as an archive (HAR 1.2) that browsers open, without secrets.") var har: String?
    @Flag(help: "Tell where the time went, on standard error: a tree of layers, attempts and phases.") var profile = false
    @Flag(name: [.short, .long], help: "Tell what is sent and received, on standard error, without secrets.") var verbose = false
    @Flag(name: [.short, .long], help: "No progress, and no message about a failure.") var silent = false
    @Flag(name: [.customShort("S"), .customLong("show-error")], help: "With --silent: messages all the same.") var showError = false
    @Option(
        name: [.customShort("w"), .customLong("write-out")],
        help: "Text for the end: %{http_code}, %{http_version}, %{size_download}, %{num_redirects}, %{time_total}, %{url_effective}.")
    var writeOut: String?

    func validate() throws {
        guard maxRedirects >= 0 else { throw ValidationError("--max-redirs is \(maxRedirects)") }
        guard (0...100).contains(retry) else { throw ValidationError("--retry is \(retry); it can be 0 to 100") }
        if let maxTime, !(maxTime > 0 && maxTime < 1e9) { throw ValidationError("--max-time is \(maxTime)") }
        guard connectTimeout > 0, connectTimeout < 1e6 else { throw ValidationError("--connect-timeout is \(connectTimeout)") }
        guard (cert == nil) == (key == nil) else { throw ValidationError("--cert and --key go together") }
        let isForm = !data.isEmpty || !dataRaw.isEmpty || !dataUrlencode.isEmpty
        let kinds = [
            ("--data", isForm), ("--data-binary", dataBinary != nil), ("--json", json != nil), ("--json-field", !jsonField.isEmpty),
            ("--form", !form.isEmpty), ("--upload-file", uploadFile != nil),
        ].filter(\.1).map(\.0)
        guard kinds.count <= 1 else { throw ValidationError("\(kinds.joined(separator: " and ")) do not go together") }
    }
}
