import ArgumentParser
import Errand
import Foundation

struct UploadCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "upload", abstract: "Uploads a file, and continues after a lost connection or in a later run.",
        usage: "errand upload [<options>] <file> <url>",
        discussion: """
            The server must support uploads that resume: the IETF draft (--resumable, the default) or tus 1.0.0 (--tus). With the draft, a \
            server without this support gets a normal request with the file as its body, and the command can't continue this upload.

            Until the upload is complete, a journal beside the file, FILE.errand-upload-….json, describes it. If the connection is lost, the \
            command connects again. After Ctrl-C or a failure, the same command continues the upload. With --tus, the command writes the URL \
            of the upload to standard output, otherwise the body of the response.

            EXAMPLES:
              errand upload video.mp4 https://a.example/videos
              errand upload --tus video.mp4 https://a.example/files/

            EXIT STATUS:
              0     The upload is complete.
              4     The status of the response is 4xx.
              5     The status of the response is 5xx.
              6     There is no response, or only a part of it.
              23    The journal or the output can't be written.
              64    The arguments are invalid.
              130   Ctrl-C interrupted the command. 143: kill ended it.
            """)

    @Argument(help: "The file.") var file: String
    @Argument(help: "The URL. Without a scheme, http:// is added; ':8080/x' is short for http://localhost:8080/x.") var url: String
    @OptionGroup(title: "Upload options") var upload: UploadOptionGroup
    @OptionGroup(title: "Request options") var content: ContentOptions
    @OptionGroup(title: "Authentication options") var who: AuthenticationOptions
    @OptionGroup(title: "Connection options") var connection: ConnectionOptions
    @OptionGroup(title: "Output options") var shown: OutputOptions

    /// The options that have no meaning for an upload, each with the reason or what to write instead.
    private var unused: [(option: String, isGiven: Bool, advice: String)] {
        let body = "The file is the body"
        return [
            (
                "--form", !content.form.isEmpty,
                "A multipart form can't continue where it stopped. 'errand post -F name=@FILE URL' sends a form at once"
            ),
            ("--data", !content.formData.isEmpty, body), ("--json", !content.json.isEmpty, body),
            ("--json-field", !content.jsonField.isEmpty, body), ("--upload-file", content.uploadFile != nil, body),
            ("--get", content.dataInQuery, "Use -q"),
            ("--compress-body", content.compressBody, "Offsets of a compressed body have no meaning for the file"),
            ("--range", content.range != nil, "The command finds the offset itself"),
            ("--cache", connection.cache != nil, "Responses to uploads are not stored"), ("--head", shown.head, "'errand head' sends HEAD"),
            ("--curl", shown.curl, "'errand put -T FILE --curl URL' shows a request"),
            ("--har", shown.har != nil, "Use 'errand put -T FILE --har'"),
            ("--profile", shown.profile, "Use 'errand put -T FILE --profile'"),
            ("--progress-bar", shown.progressBar, "A terminal shows a bar without an option"),
            ("--write-out", shown.writeOut != nil, "Use 'errand put -T FILE -w'"),
        ]
    }

    func validate() throws {
        if let (option, _, advice) = unused.first(where: \.isGiven) {
            throw ValidationError("\(option) has no meaning for uploads that resume. \(advice)")
        }
        guard content.continueAt.map({ $0.isExactly("-") }) != false else {
            throw ValidationError("--continue-at must be '-': the command asks the server for the offset")
        }
        guard !file.isExactly("-"), !SpecialFile.exists(at: file) else {
            throw ValidationError("only a file can continue where it stopped. 'errand put -T - URL' sends standard input at once")
        }
        guard FileManager.default.fileExists(atPath: file) else {
            // The order of the arguments is that of curl -T, and easy to swap.
            let isSwapped = UnknownOption.isURL(file)
            throw ValidationError(isSwapped ? "the file comes before the URL" : "there is no file '\(file.shownSafely())'")
        }
    }

    func run() async throws { try await UploadCommandRun(self).run() }

    /// The arguments for the requests.
    var arguments: RequestArguments {
        var arguments = RequestArguments()
        (arguments.url, arguments.items) = (url, [])
        (arguments.content, arguments.who, arguments.connection, arguments.shown) = (content, who, connection, shown)
        arguments.content.continueAt = nil
        return arguments
    }
}

/// The options of uploads alone.
struct UploadOptionGroup: ParsableArguments {
    @Flag(help: "Uses tus 1.0.0. The URL is that for new uploads.") var tus = false
    @Flag(help: "Uses the IETF draft for resumable uploads, interoperability version 8. This is the default.") var resumable = false
    @Option(
        name: [.customShort("X"), .customLong("request")],
        help: ArgumentHelp("With the IETF draft, the method: POST, PUT or PATCH. POST by default.", valueName: "method"))
    var method: String?
    @Flag(help: "Cancels an unfinished upload of an earlier run, and starts from the first byte.") var force = false

    func validate() throws {
        guard !tus || !resumable else { throw ValidationError("--tus and --resumable do not go together") }
        guard let method else { return }
        guard !tus else { throw ValidationError("--request and --tus do not go together: tus sends POST") }
        guard ["POST", "PUT", "PATCH"].contains(method) else {
            throw ValidationError("--request must be POST, PUT or PATCH (is '\(method.shownSafely())')")
        }
    }
}
