import Errand
import ErrandTesting
import Foundation

// The samples of the article "A client of closures", unchanged: `ReadmeTests` compares each sample with this file.

nonisolated struct Note: Codable, Sendable, Equatable {
    var id: Int
    var text: String
}

nonisolated struct NotesClient: Sendable {
    var all: @Sendable () async throws -> [Note]
    var add: @Sendable (_ text: String) async throws -> Note
    var delete: @Sendable (_ id: Int) async throws -> Void
}

nonisolated extension NotesClient {
    static func live(_ api: APIClient) -> NotesClient {
        NotesClient(
            all: { try await api.get("/notes") },
            add: { text in try await api.post("/notes", body: .json(["text": text])) },
            delete: { id in try await api.delete("/notes/\(id, "id")") }
        )
    }
}

nonisolated extension NotesClient {
    /// For previews: no network, and always the same notes.
    static let preview = NotesClient(
        all: { [Note(id: 1, text: "Buy tea"), Note(id: 2, text: "Drink it")] },
        add: { text in Note(id: 3, text: text) },
        delete: { _ in }
    )

    /// For tests: each call fails, unless the test replaces its closure.
    static let unexpected = NotesClient(
        all: { throw Unexpected(call: "all") },
        add: { _ in throw Unexpected(call: "add") },
        delete: { _ in throw Unexpected(call: "delete") }
    )

    struct Unexpected: Error { let call: String }
}

@MainActor
final class NotesModel {
    private(set) var notes: [Note] = []
    private(set) var message: String?
    private let client: NotesClient

    init(client: NotesClient) { self.client = client }

    func load() async {
        do {
            notes = try await client.all()
        } catch is CancellationError {
            // The view has disappeared, and nobody reads a message.
        } catch {
            message = error.localizedDescription
        }
    }
}

@MainActor
func modelShowsWhatItGets() async {
    var client = NotesClient.unexpected
    client.all = { [Note(id: 7, text: "Only this")] }
    let model = NotesModel(client: client)
    await model.load()
    assert(model.notes.map(\.id) == [7] && model.message == nil)
}

func requestsAreRight() async throws {
    let stub = StubTransport(Stub(.post, "/notes").json(["text": "Buy tea"]).responds(.json(Note(id: 3, text: "Buy tea"))))
    let client = NotesClient.live(APIClient(stub.server("https://a.example")))
    let note = try await client.add("Buy tea")
    assert(note.id == 3 && stub.requests.map(\.path) == ["/notes"])
}

nonisolated struct AppDependencies: Sendable {
    var notes: NotesClient

    static func live() -> AppDependencies {
        let api = APIClient(.default.retry().timeout(.seconds(30)).server("https://notes.example/v1"))
        return AppDependencies(notes: .live(api))
    }

    static let preview = AppDependencies(notes: .preview)
}

nonisolated enum Composition {
    @TaskLocal static var dependencies = AppDependencies.preview
}

@MainActor
func firstScreen() -> NotesModel { NotesModel(client: Composition.dependencies.notes) }

nonisolated extension NotesClient: DependencyKey {
    static let liveValue = AppDependencies.live().notes
    static let previewValue = NotesClient.preview
    static let testValue = NotesClient.unexpected
}

nonisolated extension DependencyValues {
    var notes: NotesClient {
        get { self[NotesClient.self] }
        set { self[NotesClient.self] = newValue }
    }
}

@MainActor
final class InjectedNotesModel {
    @Dependency(\.notes) var client

    func count() async throws -> Int { try await client.all().count }
}
