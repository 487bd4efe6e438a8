import Errand

/// Says what to write in place of an option that the command does not have.
enum UnknownOption {
    /// Options of the parser that no table has.
    private static let ofTheParser: Set<String> = ["experimental-dump-help", "generate-completion-script", "help-hidden"]

    /// The message for the first unknown option of arguments in the forms of the parser; `nil` if no option is unknown.
    static func problem(in arguments: [String]) -> String? {
        guard arguments.first != "help", !asksForHelp(arguments) else { return nil }
        return options(of: arguments).lazy.compactMap { unknownName(in: $0.word) }.first.map { message(for: $0) }
    }

    /// The message for an unknown option.
    ///
    /// - Parameters:
    ///   - option: the option with its dashes, without a value.
    ///   - isKnown: whether another subcommand has the option.
    static func message(for option: String, isKnown: Bool = false) -> String {
        let shown = "Unknown option '\(option.shownSafely(limit: 60))'"
        if let answer = answer(for: option) { return "\(shown): \(answer)" }
        if isKnown, ["--continue", "--force", "--output-dir"].contains(option) { return "\(shown): 'errand download' has this option" }
        guard !isKnown, option.hasOctetPrefix("--"), let near = nearest(to: option) else { return shown }
        return "\(shown). Did you mean '\(near)'?" + (answer(for: near).map { " \(near): \($0)" } ?? "")
    }

    /// The option whose value is a URL, if the URL of the request is missing: `-d http://a.example`. `nil` if there is no such option.
    static func optionWithURL(in arguments: [String]) -> String? {
        options(of: arguments).last { option in
            !["--proxy", "-x", "--referer", "-e", "--header", "-H"].contains(option.name) && !option.name.hasOctetSuffix("url")
                && !option.name.hasOctetSuffix("issuer") && option.value.map(isURL) == true
        }?.name
    }

    /// Whether a text begins with the scheme of a URL.
    static func isURL(_ text: String) -> Bool {
        ["http://", "https://"].contains { text.hasOctetPrefixIgnoringCase($0) }
    }

    // MARK: - Names

    private struct Option {
        /// The argument.
        let word: String
        /// The name with its dashes.
        let name: String
        let value: String?
    }

    /// The options, each with its value.
    private static func options(of arguments: [String]) -> [Option] {
        var found: [Option] = []
        var rest = arguments[...]
        while let word = rest.popFirst(), !word.isExactly("--") {
            guard word.hasOctetPrefix("-"), word.utf8.count > 1, !word.hasOctetPrefix("---") else { continue }
            var (name, value) = word.cut(atOctet: UInt8(ascii: "="))
            let takesValue =
                name.hasOctetPrefix("--")
                ? OptionTable.longOptionsWithValues.contains(String(name.dropFirst(2)))
                : name.count == 2 && OptionTable.shortOptionsWithValues.contains(name[name.index(after: name.startIndex)])
            if takesValue, value == nil, let next = rest.first, !next.hasOctetPrefix("--") {
                value = next
                rest = rest.dropFirst()
            }
            found.append(Option(word: word, name: name, value: value))
        }
        return found
    }

    private static func asksForHelp(_ arguments: [String]) -> Bool {
        options(of: arguments).contains { ["-h", "--help"].contains($0.name) }
    }

    /// The name of the unknown option of an argument; `nil` if each option is known.
    private static func unknownName(in word: String) -> String? {
        guard !word.hasOctetPrefix("--") else {
            let name = String(word.cut(atOctet: UInt8(ascii: "=")).0.dropFirst(2))
            return OptionTable.isLongName(name) || ofTheParser.contains(name) ? nil : "--\(name)"
        }
        for letter in word.dropFirst() {
            if OptionTable.shortOptionsWithValues.contains(letter) { return nil }
            guard OptionTable.shortFlags.contains(letter) else { return "-\(letter)" }
        }
        return nil
    }

    /// The option with the fewest changes, if the changes are few for the length of the name.
    private static func nearest(to option: String) -> String? {
        let name = option.dropFirst(2)
        guard (3...40).contains(name.utf8.count) else { return nil }
        let foreign = answers.flatMap(\.names).filter { $0.hasOctetPrefix("--") }.map { String($0.dropFirst(2)) }
        let names = (OptionTable.longFlags.union(OptionTable.longOptionsWithValues).union(foreign)).sorted()
        let (near, changes) = EditDistance.nearest(to: String(name), among: names)
        return changes <= max(1, name.utf8.count / 3) ? near.first.map { "--\($0)" } : nil
    }

    // MARK: - Options of other commands

    private static func answer(for option: String) -> String? { answers.first { $0.names.contains(option) }?.text }

    /// The options of curl and of httpie that this command does not have, and what to write in their place.
    static let answers: [(names: [String], text: String)] = [
        // Of curl.
        (["-4", "--ipv4", "-6", "--ipv6"], "--resolve HOST:PORT:ADDRESS chooses the address"),
        (["-J", "--remote-header-name"], "'errand download URL' takes the name of the file from the response, and -O from the URL"),
        (["-R", "--remote-time"], "a file has the time of its download"),
        (["-K", "--config"], "there is no file of options. -H @FILE reads header fields from a file, and -d @FILE data"),
        (["-Z", "--parallel", "--next", "-:"], "one command sends one request. 'errand download' downloads several URLs at the same time"),
        (["-z", "--time-cond"], "-H 'If-Modified-Since: DATE' sends the condition"),
        (["-V"], "--version shows the version"),
        (["-E"], "--cert FILE and --key FILE name the client's certificate"),
        (
            ["-1", "--tlsv1", "--tlsv1.0", "--tlsv1.1", "--tlsv1.2", "--tlsv1.3", "--tls-max", "--ssl", "--ssl-reqd"],
            "TLS 1.2 or 1.3 is always used"
        ),
        (["-0", "--http1.0", "--http0.9"], "--http1.1 is the oldest version"),
        (["--http3", "--http3-only"], "HTTP/3 is not supported"),
        (["--retry-max-time"], "-m SECONDS limits the whole time. --retry-delay SECONDS is the wait before each further attempt"),
        (["--retry-connrefused", "--retry-all-errors"], "--retry COUNT also repeats after a connection that was refused or lost"),
        (["--limit-rate", "-Y", "--speed-limit", "-y", "--speed-time"], "the rate is not limited. -m SECONDS limits the time"),
        (["--max-filesize"], "the length of a body is not limited. -m SECONDS limits the time"),
        (["--create-dirs"], "-o FILE needs a folder that exists. Make the folder with mkdir -p"),
        (["--location-trusted"], "-L follows redirects, and never sends credentials to another host"),
        (["--connect-to"], "--resolve HOST:PORT:ADDRESS chooses the address"),
        (["--trace", "--trace-ascii", "--trace-time", "--trace-config"], "-v shows what is sent and received, and --profile the times"),
        (["--stderr"], "2>FILE writes the messages to a file"),
        (["--url"], "the URL is written without an option"),
        (["--raw"], "the body is never decoded without --compressed. --data-raw TEXT sends a text"),
        (["--fail-with-body"], "this is the default: the body is shown, and a status of 400 or more ends with 4 or 5"),
        // Of httpie.
        (["-a"], "-u USER:PASSWORD sends credentials"),
        (["--auth-type"], "--basic, --digest and --anyauth choose the authentication of -u"),
        (["--bearer"], "--oauth2-bearer TOKEN sends the token"),
        (["--follow"], "-L follows redirects"),
        (["--max-redirects"], "--max-redirs COUNT"),
        (["--download"], "'errand download URL' writes the body to a file"),
        (["--offline"], "--curl shows the request as a curl command, and sends nothing"),
        (["--check-status"], "this is the default: a status of 400 or more ends with 4 or 5"),
        (["--verify"], "-k does not check the certificate, as --verify=no. --cacert FILE trusts an authority"),
        (["--cert-key"], "--key FILE names the key"),
        (["--session", "--session-read-only"], "-b FILE -c FILE keeps cookies in a file"),
        (["-p", "--print"], "-v shows the request and the response, -i the header fields of the response"),
        (["--pretty", "--style", "--format-options", "--unsorted", "--sorted"], "--color always or --color never"),
        (["--body"], "the body is shown without an option. -d TEXT sends a body"),
        (["--headers"], "-I sends HEAD, and -i shows the header fields before the body"),
        (["--meta"], "--profile shows where the time went"),
        (["--stream", "--no-stream"], "a body is shown as it arrives, except JSON on a terminal"),
        (["--multipart"], "-F NAME=VALUE sends a part of a form"),
        (["--quiet"], "-s shows neither progress nor messages. -o /dev/null hides the body"),
        (["--xml"], "-H 'Content-Type: application/xml' -d @FILE sends XML"),
        (["--method"], "-X METHOD names the method"),
    ]
}
