import ArgumentParser
import Errand

/// The arguments that describe a request. Options that curl has, too, have curl's names.
struct RequestArguments: ParsableArguments {
    @Argument(help: "The URL. Without a scheme, http:// is added; ':8080/x' is short for http://localhost:8080/x.") var url: String
    @Argument(
        help: ArgumentHelp(
            """
            Parts of the request, as in httpie: name=text and name:=json are members of a JSON body, name==value is a query item, \
            Name:value is a header field. With '@' after the sign, a file has the value, also if the '@' comes from a variable of a \
            script; '\\@' is a plain '@'.
            """, valueName: "item"))
    var items: [String] = []
    @OptionGroup(title: "Request options") var content: ContentOptions
    @OptionGroup(title: "Authentication options") var who: AuthenticationOptions
    @OptionGroup(title: "Connection options") var connection: ConnectionOptions
    @OptionGroup(title: "Output options") var shown: OutputOptions

    func validate() throws {
        guard shown.output == nil || !shown.remoteName else { throw ValidationError("--output and --remote-name do not go together") }
        guard content.continueAt == nil else {
            throw ValidationError("--continue-at has no meaning here. 'errand download -C - URL' continues a download")
        }
        if connection.insecure, connection.proxy?.isEmpty == false, let url = try? httpURL(), Loopback.contains(url.host) {
            throw ValidationError("--insecure and --proxy do not go together for a server of this machine")
        }
        guard connection.unixSocket != nil else { return }
        guard connection.unixSocket?.isEmpty == false else { throw ValidationError("--unix-socket must be a path (is empty)") }
        let others = [
            ("--proxy", connection.proxy != nil), ("--resolve", !connection.resolve.isEmpty),
            ("--wait-for-network", connection.waitForNetwork != nil),
        ].filter(\.1).map(\.0)
        guard others.isEmpty else { throw ValidationError("--unix-socket and \(others.joined(separator: ", ")) do not go together") }
    }
}

/// The options for the body of the request.
struct ContentOptions: ParsableArguments {
    @Option(
        name: [.customShort("H"), .long],
        help: ArgumentHelp(
            "A header field to send; 'Name:' removes the field, 'Name;' sends it empty, @FILE reads a file of fields. Can be repeated.",
            valueName: "name: value"))
    var header: [String] = []
    @Option(name: [.short, .long], help: ArgumentHelp("A query item. Can be repeated.", valueName: "name=value")) var query: [String] = []
    @Option(
        name: [.short, .long, .customLong("data-ascii")],
        help: ArgumentHelp(
            """
            Form data; @FILE reads a file without its line ends, @- standard input. Options for form data can be repeated: the parts are \
            joined by '&' in their order.
            """, valueName: "name=value"),
        transform: FormData.reading(.data))
    var data: [FormData] = []
    @Option(
        help: ArgumentHelp("Form data in which '@' has no special meaning.", valueName: "name=value"),
        transform: FormData.reading(.raw))
    var dataRaw: [FormData] = []
    @Option(
        help: ArgumentHelp("Form data that is sent unchanged; @FILE streams a file, @- standard input.", valueName: "data"),
        transform: FormData.reading(.binary))
    var dataBinary: [FormData] = []
    @Option(
        help: ArgumentHelp(
            "Form data whose value is percent-encoded first: 'content', '=content', 'name=content', '@FILE' or 'name@FILE'.",
            valueName: "name=value"),
        transform: FormData.reading(.urlEncoded))
    var dataUrlencode: [FormData] = []
    @Option(
        help: ArgumentHelp(
            """
            A JSON body; @FILE reads a file, @- standard input. If the option is repeated, the texts are joined. post, put and patch also \
            take a body from a pipe: see --ignore-stdin.
            """, valueName: "json"))
    var json: [String] = []
    @Flag(
        help: """
            Sends no body from standard input. Without this option, post, put and patch without data send a pipe or a file on standard \
            input, and say so, even with --silent. To send a pipe without this message, use --json @- or --data-binary @-. The rest of a \
            file that was read in part is never sent, because a loop such as 'while read' needs it.
            """)
    var ignoreStdin = false
    @Option(
        name: [.customShort("j"), .customLong("json-field")],
        help: ArgumentHelp("A member of a JSON body: name=text, or name:=json. Can be repeated.", valueName: "name=text"))
    var jsonField: [String] = []
    @Option(
        name: [.customShort("F"), .customLong("form")],
        help: ArgumentHelp(
            "A part of a multipart form: name=value, name=@FILE[;type=TYPE][;filename=NAME] or name=<FILE. Can be repeated.",
            valueName: "name=value"))
    var form: [String] = []
    @Option(
        name: [.customShort("T"), .customLong("upload-file")],
        help: ArgumentHelp("Uploads a file with PUT; '-' is standard input.", valueName: "file"))
    var uploadFile: String?
    @Flag(name: [.customShort("G"), .customLong("get")], help: "Sends the form data as query items, with GET.") var dataInQuery = false
    @Option(
        name: [.customShort("A"), .customLong("user-agent")],
        help: ArgumentHelp("The User-Agent field; '' sends no field.", valueName: "name"))
    var userAgent: String?
    @Option(name: [.customShort("e"), .customLong("referer")], help: ArgumentHelp("The Referer field.", valueName: "url")) var referer:
        String?
    @Option(
        name: [.customShort("b"), .customLong("cookie")],
        help: ArgumentHelp(
            """
            Cookies to send: 'name=value; …', or a file in curl's format, whose cookies go to their own hosts; @FILE names a file with '=' in \
            its name, '-' standard input, '' no file. With a file, the cookies of responses are sent, too. Can be repeated.
            """, valueName: "cookies|file"))
    var cookie: [String] = []
    @Option(
        name: [.customShort("c"), .customLong("cookie-jar")],
        help: ArgumentHelp(
            """
            Writes all cookies at the end to a file in curl's format, which only you can read; '-' is standard output. Redirects and retries \
            send the cookies of earlier responses.
            """, valueName: "file"))
    var cookieJar: String?
    // Only for downloads.
    @Option(name: [.customShort("C"), .customLong("continue-at")], help: .hidden) var continueAt: String?
    @Option(
        name: [.customShort("r"), .customLong("range")],
        help: ArgumentHelp("Asks for a range of bytes: '0-99', '5-' to the end, or '-5' for the last 5 bytes.", valueName: "range"))
    var range: String?
    @Flag(help: "Asks for gzip or deflate and decodes the body. A build with the traits Brotli and Zstandard asks for these codings, too.")
    var compressed = false
    @Flag(help: "Compresses the request's body with gzip. If the server refuses the coding (415), the body is sent uncompressed.")
    var compressBody = false

    func validate() throws {
        let kinds = [
            ("--data", !formData.isEmpty), ("--json", !json.isEmpty), ("--json-field", !jsonField.isEmpty), ("--form", !form.isEmpty),
            ("--upload-file", uploadFile != nil),
        ].filter(\.1).map(\.0)
        if let problem = problemOfTakenURL { throw ValidationError(problem) }
        guard kinds.count <= 1 else { throw ValidationError("\(kinds.joined(separator: " and ")) do not go together") }
        if dataInQuery, let kind = kinds.first, kind != "--data" { throw ValidationError("--get and \(kind) do not go together") }
        for (option, text) in [("--user-agent", userAgent), ("--referer", referer)] {
            guard let text, !HTTPField.isValidValue(text.withoutOuterBlanks) else { continue }
            throw ValidationError("\(option) must be one line of text")
        }
        if referer?.hasOctetSuffix(";auto") == true {
            throw ValidationError("--referer does not support ';auto'. It must be a URL")
        }
        guard cookieJar?.isEmpty != true else { throw ValidationError("--cookie-jar must be a file, or '-' (is empty)") }
        guard HTTPField.isValidValue(cookieText) else { throw ValidationError("--cookie must be one line of text, or a file") }
        if let range,
            !range.utf8.contains(where: { "0123456789".utf8.contains($0) }) || !range.utf8.allSatisfy("0123456789-, ".utf8.contains)
        {
            throw ValidationError("--range must be 'FIRST-LAST', 'FIRST-' or '-COUNT', or several of them with commas")
        }
    }

    /// The problem of a value that is a URL, and can't be the value of its option; `nil` if there is no such value. The URL is not shown,
    /// because it may contain secrets.
    private var problemOfTakenURL: String? {
        let values = [
            ("--json", json, "For members of a JSON body, write items after the URL: a=1, without --json"),
            ("--json-field", jsonField, "-j is for one member: -j a=1"),
            ("--form", form, "-F is for one part of a multipart form: -F a=1. For a URL-encoded form, write -d a=1"),
        ]
        guard let (option, _, advice) = values.first(where: { $0.1.contains(where: UnknownOption.isURL) }) else { return nil }
        return "\(option) took the URL as its value. \(advice)"
    }

    /// An option for the body or the query that has a URL as its value; `nil` if there is no such option.
    var optionWithURL: String? {
        if formData.contains(where: { UnknownOption.isURL($0.text) }) { return "--data" }
        return query.contains(where: UnknownOption.isURL) ? "--query" : nil
    }

    /// The files of `--cookie`. As in curl, an argument without `=` is a file.
    var cookieFiles: [String] {
        cookie.compactMap { text in
            CommandFile.path(in: text) ?? (text.containsOctet(UInt8(ascii: "=")) ? nil : text)
        }
    }

    /// The texts of `--cookie`; empty if all values are files.
    var cookieText: String {
        cookie.filter { CommandFile.path(in: $0) == nil && $0.containsOctet(UInt8(ascii: "=")) }
            .map(\.withoutOuterBlanks).joined(separator: "; ")
    }

    /// Whether the cookies of responses are stored, and sent with the next requests.
    var usesCookieJar: Bool { cookieJar != nil || !cookieFiles.isEmpty }

    /// The form data, in the order of their options.
    var formData: [FormData] { (data + dataRaw + dataBinary + dataUrlencode).sorted { $0.position < $1.position } }
}

/// The options for sending the request.
struct ConnectionOptions: ParsableArguments {
    @Flag(name: [.customShort("L"), .customLong("location")], help: "Follows redirects.") var followsRedirects = false
    @Option(name: .customLong("max-redirs"), help: ArgumentHelp("The most redirects to follow.", valueName: "count")) var maxRedirects = 20
    @Flag(
        name: .customLong("allow-downgrade"),
        help: "With --location, also follows redirects from https to http. Others on the network can then read what is exchanged.")
    var allowsDowngrade = false
    @Option(
        help: ArgumentHelp(
            """
            Sends requests by https to the hosts in this file, and adds hosts that demand https. The file has curl's format.
            """, valueName: "file"))
    var hsts: String?
    @Option(
        help: ArgumentHelp(
            """
            Keeps responses in this folder, and uses stored responses instead of requests, by the rules of HTTP. Responses to requests with \
            credentials or cookies are not kept, because the command names no account. 'errand cache' shows the folder, and -v what the cache did.
            """, valueName: "folder"))
    var cache: String?
    @Option(
        name: .customLong("retry"),
        help: ArgumentHelp(
            """
            How often to send the request again after a temporary failure before the body of the response: no connection, a lost \
            connection, or the status 408, 425, 429, 500, 502, 503 or 504. If the server may have processed a POST or PATCH, the request \
            is sent again only with the field Idempotency-Key. The waits are random: the first is at most 0.1 s, and the limit doubles \
            each time, up to 20 s. The time of Retry-After is added; if it is more than 60 s, the retries end. \
            0 by default. For a download: how often to connect again without new bytes, 10 by default after the first response.
            """, valueName: "count"))
    var retryCount: Int?
    @Option(
        help: ArgumentHelp(
            "With --retry, the wait before each further attempt. If the server asks for more time with Retry-After, the wait is longer.",
            valueName: "seconds"))
    var retryDelay: Double?
    @Option(
        name: [.customShort("m"), .customLong("max-time"), .customLong("timeout")],
        help: ArgumentHelp(
            "The most time for everything, with redirects, retries and the body. Unlimited by default.", valueName: "seconds"))
    var maxTime: Double?
    @Option(
        name: .customLong("connect-timeout"),
        help: ArgumentHelp("The most time for a connection to be established. 10 by default.", valueName: "seconds"))
    var connectTimeout: Double?
    @Option(
        name: .customLong("wait-for-network"),
        help: ArgumentHelp(
            "The most time that each attempt waits if this machine has no network. After this time, the request is sent anyway. No wait by default.",
            valueName: "seconds"))
    var waitForNetwork: Double?
    @Option(
        name: [.customShort("x"), .customLong("proxy")],
        help: ArgumentHelp(
            """
            A proxy: SCHEME://[USER:PASSWORD@]HOST:PORT; the scheme is http, https, socks5 or socks5h. A SOCKS proxy resolves the names of \
            hosts in both cases. By default, the variables http_proxy, HTTPS_PROXY, ALL_PROXY and NO_PROXY name the proxies; '' uses no proxy.
            """, valueName: "url"))
    var proxy: String?
    @Option(
        name: .customLong("noproxy"),
        help: ArgumentHelp(
            "Hosts that need no proxy, separated by commas: names, addresses, networks such as 10.0.0.0/8, or '*'. The list replaces NO_PROXY.",
            valueName: "list"))
    var noProxy: String?
    @Option(
        name: [.customShort("U"), .customLong("proxy-user")],
        help: ArgumentHelp(
            "The user and the password for the proxy, with Basic authentication. Percent-encode ':' and '%' in them.",
            valueName: "user:password"))
    var proxyUser: String?
    @Flag(name: .customLong("proxy-basic"), help: "Uses Basic authentication with the proxy. This is the default.") var proxyBasic = false
    @Flag(name: .customLong("proxy-digest"), help: "Uses Digest authentication with the proxy.") var proxyDigest = false
    @Flag(
        name: .customLong("proxy-anyauth"), help: "Uses the safest authentication that the proxy offers: Digest, or else Basic.")
    var proxyAnyAuth = false
    @Option(
        help: ArgumentHelp(
            "Connects to one of these IP addresses instead of looking the host up; the host may be '*'. Can be repeated.",
            valueName: "host:port:address[,address]…"))
    var resolve: [String] = []
    @Option(
        help: ArgumentHelp("Connects to this Unix domain socket instead of the URL's host and port.", valueName: "path"))
    var unixSocket: String?
    @Option(
        help: ArgumentHelp(
            "A PEM file with certificate authorities to trust besides the system's, for servers and for proxies.", valueName: "file"))
    var cacert: String?
    @Option(help: ArgumentHelp("A PEM file with the client's certificate and its chain.", valueName: "file")) var cert: String?
    @Option(help: ArgumentHelp("A PEM file with the key of the client's certificate.", valueName: "file")) var key: String?
    @Flag(
        name: [.customShort("k"), .long],
        help: """
            Does not check the certificate of the URL's host. Nothing then proves who the server is. For another machine, a warning says so.
            """)
    var insecure = false
    @Option(
        name: .customLong("max-header-bytes"),
        help: ArgumentHelp("The most bytes of the header section of a response. 262144 by default.", valueName: "count"))
    var maxHeaderBytes: Int?
    @Option(
        name: .customLong("max-header-count"),
        help: ArgumentHelp("The most header fields of a response, up to 65534. 500 by default.", valueName: "count"))
    var maxHeaderCount: Int?
    @Flag(name: .customLong("http1.1"), help: "Uses HTTP/1.1.") var http1 = false
    @Flag(
        name: .customLong("http2"),
        help: "Uses HTTP/2 with servers that offer it over TLS, and HTTP/1.1 with the others. This is the default.")
    var http2 = false
    @Flag(
        name: .customLong("http2-prior-knowledge"),
        help: "Uses HTTP/2 for http URLs, too, without asking. For https URLs, the same as --http2.")
    var http2PriorKnowledge = false

    /// How often a request is sent again.
    var retry: Int { retryCount ?? 0 }

    func validate() throws {
        guard maxRedirects >= 0 else { throw ValidationError("--max-redirs must be at least 0 (is \(maxRedirects))") }
        guard (0...100).contains(retry) else { throw ValidationError("--retry must be 0 to 100 (is \(retry))") }
        if let retryDelay {
            guard retryDelay >= 0 && retryDelay < 1e6 else {
                throw ValidationError("--retry-delay must be at least 0 and less than 1000000 seconds (is \(retryDelay.shortText))")
            }
            guard retry > 0 else { throw ValidationError("--retry-delay needs --retry COUNT") }
        }
        if let maxTime, !(maxTime > 0 && maxTime < 1e9) {
            throw ValidationError("--max-time must be more than 0 and less than 1000000000 seconds (is \(maxTime.shortText))")
        }
        if let connectTimeout, !(connectTimeout > 0 && connectTimeout < 1e6) {
            throw ValidationError("--connect-timeout must be more than 0 and less than 1000000 seconds (is \(connectTimeout.shortText))")
        }
        if let waitForNetwork, !(waitForNetwork > 0 && waitForNetwork < 1e9) {
            throw ValidationError(
                "--wait-for-network must be more than 0 and less than 1000000000 seconds (is \(waitForNetwork.shortText))")
        }
        if let maxHeaderBytes, !(1...1 << 30).contains(maxHeaderBytes) {
            throw ValidationError("--max-header-bytes must be 1 to \(1 << 30) (is \(maxHeaderBytes))")
        }
        if let maxHeaderCount, !(1...65_534).contains(maxHeaderCount) {
            throw ValidationError("--max-header-count must be 1 to 65534 (is \(maxHeaderCount))")
        }
        let versions = [("--http1.1", http1), ("--http2", http2), ("--http2-prior-knowledge", http2PriorKnowledge)].filter(\.1).map(\.0)
        guard versions.count <= 1 || !http1 else { throw ValidationError("\(versions.joined(separator: " and ")) do not go together") }
        let proxyWays = [("--proxy-basic", proxyBasic), ("--proxy-digest", proxyDigest), ("--proxy-anyauth", proxyAnyAuth)]
        guard proxyWays.filter(\.1).count <= 1 else {
            throw ValidationError("\(proxyWays.filter(\.1).map(\.0).joined(separator: " and ")) do not go together")
        }
        guard (cert == nil) == (key == nil) else { throw ValidationError("--cert and --key go together") }
    }
}

/// The options for the output.
struct OutputOptions: ParsableArguments {
    @Option(
        name: [.short, .long],
        help: ArgumentHelp(
            "Writes the body to a file, which appears when the body is complete; '-' is standard output.", valueName: "file"))
    var output: String?
    @Flag(
        name: [.customShort("O"), .customLong("remote-name")],
        help: "Writes the body to a file in the current folder, with the last part of the URL's path as its name.")
    var remoteName = false
    @Flag(name: [.short, .long], help: "For a status of 400 or more, writes a message instead of the body.") var fail = false
    @Flag(
        name: .customLong("no-fail"),
        help: "Ends with 0 for a status of 400 or more, as curl does. Without it, the exit status is 4 or 5.")
    var noFail = false
    @Flag(name: [.short, .long], help: "Shows the status and the header fields before the body.") var include = false
    @Flag(name: [.customShort("I"), .customLong("head")], help: "Sends HEAD instead of GET and shows the status and the header fields.")
    var head = false
    @Option(
        name: [.customShort("D"), .customLong("dump-header")],
        help: ArgumentHelp("Writes the status and the header fields to a file; '-' is standard output.", valueName: "file"))
    var dumpHeader: String?
    @Option(help: ArgumentHelp("Whether to color the output and to indent JSON; auto does so on a terminal.", valueName: "when"))
    var color = ColorChoice
        .auto
    @Flag(help: "Shows the request as a curl command, without secrets, and sends nothing.") var curl = false
    @Option(help: ArgumentHelp("Writes the exchanges to a HAR 1.2 file, which browsers open, without secrets.", valueName: "file"))
    var har: String?
    @Flag(help: "Shows on standard error where the time went: layers, attempts and phases.") var profile = false
    @Flag(name: [.short, .long], help: "Shows on standard error what is sent and received, without secrets.") var verbose = false
    @Flag(
        name: [.customShort("#"), .customLong("progress-bar")],
        help: "Shows a progress bar on standard error, also for a body that is piped. -o shows one on a terminal without this option.")
    var progressBar = false
    @Flag(name: [.short, .long], help: "Shows neither progress nor messages. See also --ignore-stdin.") var silent = false
    @Flag(name: [.customShort("S"), .customLong("show-error")], help: "Shows messages in spite of --silent.") var showError = false
    @Option(
        name: [.customShort("w"), .customLong("write-out")],
        help: ArgumentHelp(
            "Shows this text at the end, also after a failure; @FILE reads it from a file, @- from standard input. Variables: "
                + WriteOut.names.map { "%{\($0)}" }.joined(separator: ", ") + ", %header{NAME}.",
            valueName: "text"))
    var writeOut: String?
    // These options change nothing, because the command always behaves in this way. curl has the options, and --curl writes two of them.
    @Flag(name: [.customShort("N"), .customLong("no-buffer")], help: .hidden) var noBuffer = false
    @Flag(name: [.customShort("g"), .customLong("globoff")], help: .hidden) var globOff = false
    @Flag(name: .customLong("path-as-is"), help: .hidden) var pathAsIs = false

    func validate() throws {
        guard !fail || !noFail else { throw ValidationError("--fail and --no-fail do not go together") }
    }

    /// Whether the status and the header fields are written.
    var showsHeads: Bool { include || head || dumpHeader != nil }
    /// Whether a failure is reported.
    var showsMessages: Bool { !silent || showError }
}

extension Double {
    /// The number as text, without a fraction if it is an integer.
    var shortText: String { self == rounded() && magnitude < 1e15 ? "\(Int64(self))" : "\(self)" }
}
