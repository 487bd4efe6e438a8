import Errand
import Foundation

/// A list of downloads with progress, which survives the end of the app.
///
/// The list is a file in the folder of the downloads. Each unfinished download has a partial file and a journal beside its target. After a
/// relaunch, the list reads its file, and `resume()` continues each download where the app ended.
///
/// In SwiftUI, make `Downloads` `@Observable`, show `fraction` of each item in a `ProgressView(value:)`, and call `resume()` in a task of
/// the app. Keep the folder in Application Support: the list has no absolute path, because the folder of an app moves with each update.
enum DownloadList {
    // Without a query, because a query may have a signature. The list is a file that other programs may read.
    nonisolated struct Entry: Codable, Sendable, Equatable {
        var path: String
        var fileName: String
    }

    enum State: Sendable, Equatable {
        case waiting
        // From 0 to 1; nil if the server states no length
        case downloading(fraction: Double?, text: String)
        case paused
        case complete
        case failed(String)
    }

    struct Item: Sendable, Identifiable {
        var entry: Entry
        var state = State.waiting
        var id: String { entry.fileName }
    }

    @MainActor final class Downloads {
        private(set) var items: [Item] = []
        private let server: HTTPStack
        private let folder: URL
        private let policy: TransferPolicy
        private var running: [String: Download] = [:]
        private var list: URL { folder.appending(path: "downloads.json") }

        init(server: URL, folder: URL, over network: HTTPStack = .default, policy: TransferPolicy = .standard) throws {
            (self.server, self.folder, self.policy) = (network.concurrencyLimit(2).server(server), folder, policy)
            guard FileManager.default.fileExists(atPath: folder.appending(path: "downloads.json").path) else { return }
            let entries = try JSONDecoder().decode([Entry].self, from: Data(contentsOf: list))
            items = entries.map { entry in
                let isThere = FileManager.default.fileExists(atPath: folder.appending(path: entry.fileName).path)
                return Item(entry: entry, state: isThere ? .complete : .waiting)
            }
        }

        func add(_ path: String, as fileName: String) throws {
            guard !items.contains(where: { $0.id == fileName }) else { return }
            items.append(Item(entry: Entry(path: path, fileName: fileName)))
            try save()
        }

        // Downloads all files of the list that are not complete. Cancel the task to stop: the bytes stay
        func resume() async {
            await withTaskGroup(of: Void.self) { group in
                for item in items where item.state != .complete {
                    group.addTask { await self.download(item.entry) }
                }
            }
        }

        func pause(_ id: String) { running[id]?.pause() }

        func goOn(_ id: String) { running[id]?.resume() }

        // Removes the file, or the bytes of an unfinished download. Cancel the task of `resume()` first
        func remove(_ id: String) async throws {
            guard let index = items.firstIndex(where: { $0.id == id }) else { return }
            let target = folder.appending(path: items[index].entry.fileName)
            if items[index].state == .complete {
                try FileManager.default.removeItem(at: target)
            } else {
                try await Download(to: target, over: server) { _ in try Request(.get, "/") }.discard()
            }
            items.removeAll { $0.id == id }
            try save()
        }

        private func download(_ entry: Entry) async {
            let target = folder.appending(path: entry.fileName)
            // The closure makes each request: here, a server can be asked for a new signed URL
            let download = Download(to: target, over: server, policy: policy) { _ in
                try Request(.get, PathTemplate(verbatim: entry.path))
            }
            running[entry.fileName] = download
            defer { running[entry.fileName] = nil }
            async let file = download.file()
            for await state in download.states { show(state, of: entry.fileName) }
            do {
                _ = try await file
                set(.complete, of: entry.fileName)
            } catch is CancellationError {
                set(.waiting, of: entry.fileName)
            } catch {
                // "The server can't be reached.", for example. The next call of `resume()` continues the download
                set(.failed(error.localizedDescription), of: entry.fileName)
            }
        }

        private func show(_ state: TransferState, of id: String) {
            switch state.phase {
            case .idle, .complete, .failed: break
            case .paused: set(.paused, of: id)
            case .connecting, .transferring, .waiting, .verifying:
                set(.downloading(fraction: state.progress.fraction, text: state.description), of: id)
            }
        }

        private func set(_ state: State, of id: String) {
            guard let index = items.firstIndex(where: { $0.id == id }) else { return }
            items[index].state = state
        }

        private func save() throws { try JSONEncoder().encode(items.map(\.entry)).write(to: list, options: .atomic) }
    }
}
