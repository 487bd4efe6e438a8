import Errand
import Foundation

/// A form with a text and two files, and a progress bar while the form is sent.
///
/// The files are read while the form is sent. The length of the form is known before the form is sent, so that the bar can show a fraction.
///
/// In SwiftUI, make `Uploader` `@Observable`, show `fraction` in a `ProgressView(value:)`, and call `send(_:)` in a task that the
/// cancel button cancels.
enum UploadForm {
    struct Draft: Sendable {
        var title: String
        var photo: URL
        var log: URL

        // By default, a part has the name and the media type of its file
        var form: MultipartForm {
            [
                "title": .text(title),
                "photo": .file(photo),
                "log": .file(log, fileName: "today.log", contentType: "text/plain"),
            ]
        }
    }

    // The response of the server
    nonisolated struct Report: Decodable, Sendable, Equatable {
        var id: Int
        var bytes: Int
    }

    static func upload(_ draft: Draft) -> Endpoint<Report> { .post("/reports", body: .multipart(draft.form)) }

    // A POST is sent again only if the server cannot have processed it
    static func client(_ server: URL) -> APIClient { APIClient(.default.retry().timeout(.seconds(600)).server(server)) }

    enum State: Sendable, Equatable {
        case ready
        case sending
        case sent(Report)
        case failed(String)
    }

    @MainActor final class Uploader {
        private(set) var state = State.ready
        // From 0 to 1
        private(set) var fraction = 0.0 {
            didSet { onProgress(fraction) }
        }
        private let client: APIClient
        private let onProgress: @MainActor (Double) -> Void

        init(client: APIClient, onProgress: @escaping @MainActor (Double) -> Void = { _ in }) {
            (self.client, self.onProgress) = (client, onProgress)
        }

        func send(_ draft: Draft) async {
            (state, fraction) = (.sending, 0)
            do {
                state = .sent(try await client.upload(UploadForm.upload(draft)) { self.fraction = $0.fraction ?? 0 })
            } catch {
                state = end(error)
            }
        }

        private func end(_ error: any Error) -> State {
            if error is CancellationError { return .ready }
            if error is FileReadError { return .failed("One of the files can't be read.") }
            // "This device is offline.", for example. The advice warns if the server may have got the report.
            let advice = (error as? any LocalizedError)?.recoverySuggestion
            return .failed([error.localizedDescription, advice].compactMap { $0 }.joined(separator: " "))
        }
    }
}
