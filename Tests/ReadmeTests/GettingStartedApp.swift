import Errand
import ErrandTesting
import Foundation
import Logging

// The samples of the article "Getting started in an app", unchanged: `ReadmeTests` compares each sample with this file.

enum NoteEndpoints {
    static func page(_ number: Int) -> Endpoint<[Note]> { .get("/notes", query: ["page": number]) }
    static func note(_ id: Int) -> Endpoint<Note> { .get("/notes/\(id, "id")") }
    static func add(_ text: String) -> Endpoint<Note> { .post("/notes", body: .json(["text": text])) }
    static func delete(_ id: Int) -> Endpoint<Void> { .delete("/notes/\(id, "id")") }
    static let archive: Endpoint<Void> = .get("/notes/archive")
}

// swift-format-ignore
func makeClient(token: String) -> APIClient {
    APIClient(
        HTTPStack.default
            .authenticate(.bearer(token))
            .retry()
            .timeout(.seconds(30))
            .log(to: Logger(label: "notes"))
            .server("https://notes.example/v1")
    )
}

// swift-format-ignore
@MainActor
final class NotesScreen {
    private(set) var notes: [Note] = []
    private(set) var message: String?
    private(set) var fraction = 0.0
    private let api: APIClient

    init(api: APIClient) { self.api = api }

    func load() async {
        do {
            notes = try await api.value(NoteEndpoints.page(1))
            message = nil
        } catch is CancellationError {
            // The view has disappeared, and nobody reads a message.
        } catch where error.isOffline {
            message = "This device is offline."
        } catch {
            message = error.localizedDescription
        }
    }
}

extension NotesScreen {
    func saveArchive(to url: URL) async throws {
        let file = try await api.download(NoteEndpoints.archive, to: url) { self.fraction = $0.fraction ?? 0 }
        print("saved \(file.bytes) bytes")
    }
}

@MainActor
func screenShowsItsNotes() async {
    let stub = StubTransport(
        Stub(.get, "/v1/notes").query("page", "1").responds(.json([Note(id: 1, text: "Buy tea")]).over(.edge)))
    let screen = NotesScreen(api: APIClient(stub.server("https://notes.example/v1")))
    await screen.load()
    assert(screen.notes == [Note(id: 1, text: "Buy tea")] && screen.message == nil)
}
