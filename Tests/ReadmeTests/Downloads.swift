import Errand
import Foundation

// The samples of the article "Downloads", to the letter: `ReadmeTests` holds each block of it against this file.

func downloadMap(of city: String, to folder: URL, over stack: HTTPStack) async throws -> DownloadedFile {
    let request = try Request(.get, "/maps/\(city, "city").zip")
    let download = Download(request, to: folder.appending(path: "map.zip"), over: stack)
    return try await download.file()
}

@MainActor
func showProgress(of download: Download, in show: (String, Double?) -> Void) async {
    for await state in download.states {
        show(state.description, state.progress.fraction)
    }
}

func remove(_ download: Download) async throws {
    try await download.discard()
}

func downloadReport(
    to target: URL, over stack: HTTPStack, signedURL: @escaping @Sendable () async throws -> String
) async throws -> DownloadedFile {
    let download = Download(to: target, over: stack) { _ in
        try Request(.get, url: try await signedURL())
    }
    return try await download.file()
}

func tryDownload(_ download: Download) async -> String {
    do {
        return "\(try await download.file().bytes) bytes"
    } catch let error as TransferError where error.code == .noSpace {
        return error.localizedDescription  // There is not enough space on the disk.
    } catch {
        return "stopped at \(download.resumption?.bytes ?? 0) bytes: \(error.localizedDescription)"
    }
}
