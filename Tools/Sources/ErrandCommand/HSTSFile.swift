import Errand

/// The file of `--hsts`. If the file can't be used, a warning says so, and the request is still sent.
struct HSTSFile {
    let hosts: HSTSList
    private let showsMessages: Bool

    /// Creates the list; `nil` without the option.
    init?(_ arguments: RequestArguments) {
        guard let path = arguments.connection.hsts else { return nil }
        hosts = HSTSList(store: FileHSTSStore(atPath: path))
        showsMessages = arguments.shown.showsMessages
    }

    /// Reads the file, if it exists.
    func load() async { await warn { try await hosts.load() } }

    /// Writes the hosts that the response has added. The caller must not be cancelled.
    func save() async { await warn { try await hosts.save() } }

    private func warn(_ work: () async throws -> Void) async {
        do {
            try await work()
        } catch is CancellationError {
            // The interrupt is reported elsewhere.
        } catch {
            if showsMessages { Terminal.say("errand: warning: --hsts: \(error)") }
        }
    }
}
