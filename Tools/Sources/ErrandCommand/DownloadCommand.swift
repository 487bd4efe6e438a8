import ArgumentParser
import Errand
import Foundation

struct DownloadCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "download", abstract: "Downloads files, and continues after a lost connection or in a later run.",
        usage: "errand download [<options>] <url> ...",
        discussion: """
            Each file gets the name that the response suggests (Content-Disposition), or else the last part of the URL's path. At most 4 \
            files are downloaded at the same time, and at most 2 of them from one server. A terminal shows a bar for each download; \
            otherwise, the command writes plain lines to standard error.

            Until a file is complete, its bytes are in NAME.errand-part, and NAME.errand-part.json describes them. If the connection is \
            lost, the command connects again. After Ctrl-C or a failure, the command says how to continue, and 'errand download -C - URL' \
            continues where the download stopped. If the content has changed in the meantime, or the server can't continue, the download \
            starts from the first byte. An error page is never written to a file.

            EXAMPLES:
              errand download -L https://a.example/archive.zip
              errand download -C - -L https://a.example/archive.zip
              errand download --output-dir maps https://a.example/north.map https://a.example/south.map

            EXIT STATUS (with several URLs, of the first failure in their order):
              0     All files are complete.
              4     The status of a response is 4xx.
              5     The status of a response is 5xx.
              6     There is no response, or only a part of it.
              23    A file can't be written, or exists already.
              64    The arguments are invalid.
              130   Ctrl-C interrupted the command. 143: kill ended it.
            """)

    @Argument(help: "The URLs. Without a scheme, http:// is added; ':8080/x' is short for http://localhost:8080/x.") var urls: [String]
    @OptionGroup(title: "Download options") var download: DownloadOptionGroup
    @OptionGroup(title: "Request options") var content: ContentOptions
    @OptionGroup(title: "Authentication options") var who: AuthenticationOptions
    @OptionGroup(title: "Connection options") var connection: ConnectionOptions
    @OptionGroup(title: "Output options") var shown: OutputOptions

    /// The options that have no meaning for a download, each with the reason or what to write instead.
    private var unused: [(option: String, isGiven: Bool, advice: String)] {
        [
            ("--data", !content.formData.isEmpty, "A download has no body"), ("--json", !content.json.isEmpty, "A download has no body"),
            ("--json-field", !content.jsonField.isEmpty, "A download has no body"),
            ("--form", !content.form.isEmpty, "A download has no body"),
            ("--upload-file", content.uploadFile != nil, "A download has no body"), ("--get", content.dataInQuery, "Use -q"),
            ("--compress-body", content.compressBody, "A download has no body"),
            ("--compressed", content.compressed, "Offsets of a compressed body have no meaning for the file"),
            ("--range", content.range != nil, "-C - continues a download"),
            ("--cache", connection.cache != nil, "The file is the stored response"),
            ("--remote-name", shown.remoteName, "The file has the name of the URL without an option"),
            ("--no-fail", shown.noFail, "An error page is never written"), ("--include", shown.include, "-v shows the header fields"),
            ("--head", shown.head, "'errand head' shows the header fields"),
            ("--dump-header", shown.dumpHeader != nil, "-v shows the header fields"),
            ("--curl", shown.curl, "'errand get --curl' shows the request"), ("--har", shown.har != nil, "Use 'errand get --har'"),
            ("--profile", shown.profile, "Use 'errand get --profile'"),
            ("--progress-bar", shown.progressBar, "A terminal shows bars without an option"),
            ("--write-out", shown.writeOut != nil, "Use 'errand get -w'"),
        ]
    }

    func validate() throws {
        if let (option, _, advice) = unused.first(where: \.isGiven) {
            throw ValidationError("\(option) has no meaning for downloads. \(advice)")
        }
        if let offset = content.continueAt, !offset.isExactly("-") {
            throw ValidationError("--continue-at must be '-': the command finds the offset in the partial file")
        }
        guard let output = shown.output else { return }
        guard urls.count == 1 else {
            throw ValidationError("--output names one file, and there are \(urls.count) URLs. Use --output-dir FOLDER")
        }
        guard download.outputDir == nil else { throw ValidationError("--output and --output-dir do not go together") }
        guard !output.isEmpty, !output.isExactly("-"), !SpecialFile.exists(at: output) else {
            throw ValidationError("--output must be a file. 'errand get URL' writes to standard output, a pipe or a device")
        }
    }

    func run() async throws { try await DownloadRun(self).run() }

    /// Whether the partial file of an earlier run is continued.
    var continues: Bool { download.isContinued || content.continueAt != nil }

    /// The arguments for the request of one URL, without the options that apply to the whole download.
    func arguments(for url: String) -> RequestArguments {
        var arguments = RequestArguments()
        (arguments.url, arguments.items) = (url, [])
        (arguments.content, arguments.who, arguments.connection, arguments.shown) = (content, who, connection, shown)
        arguments.content.continueAt = nil
        return arguments
    }

    /// The file of a URL.
    func target(for url: HTTPURL) -> DownloadTarget {
        if let output = shown.output { return DownloadTarget(path: output, isNamed: true) }
        let name = DownloadTarget.name(of: url)
        guard let folder = download.outputDir, !folder.isEmpty else { return DownloadTarget(path: name, isNamed: false) }
        return DownloadTarget(path: folder.utf8.last == UInt8(ascii: "/") ? folder + name : "\(folder)/\(name)", isNamed: false)
    }
}

extension ConnectionOptions {
    /// The conditions under which a transfer continues. Without `--retry`, the standard applies after the first response: see
    /// ``DownloadRun`` and ``UploadCommandRun``.
    var transferPolicy: TransferPolicy {
        var policy = TransferPolicy.standard
        if let count = retryCount { policy.maxFailures = count }
        if let seconds = retryDelay { (policy.backoff, policy.jitter) = (.constant(.seconds(seconds)), .none) }
        return policy
    }
}

/// The options of downloads alone.
struct DownloadOptionGroup: ParsableArguments {
    @Flag(
        name: .customLong("continue"),
        help: """
            Continues the partial files of an earlier run; '-C -' does the same. A URL whose file exists is skipped.
            """)
    var isContinued = false
    @Option(
        name: .customLong("output-dir"),
        help: ArgumentHelp("Writes the files to this folder, which must exist.", valueName: "folder"))
    var outputDir: String?
    @Flag(help: "Replaces existing files. Without --continue, also discards the partial files of an earlier run.") var force = false
}
