import Errand
import Foundation

// The samples of the article "Uploads", to the letter: `ReadmeTests` holds each block of it against this file.

func uploadVideo(_ file: URL, over stack: HTTPStack) async throws -> Response {
    let request = try Request(.post, "/videos", headers: [.contentType: "video/mp4"])
    let upload = Upload(request, from: file, over: stack, by: .resumable())
    return try await upload.response()
}

func uploadToTus(_ file: URL, over stack: HTTPStack) async throws -> HTTPURL? {
    let options = UploadOptions(metadata: ["filename": file.lastPathComponent, "filetype": "video/mp4"], checksum: .sha256)
    let upload = Upload(try Request(.post, "/files/"), from: file, over: stack, by: .tus, options: options)
    _ = try await upload.response()
    return upload.url
}

func abandon(_ upload: Upload) async throws {
    try await upload.discard()
}

func uploadWithoutJournal(_ file: URL, saved: Data?, over stack: HTTPStack, save: (Data) -> Void) async throws -> Response {
    let resumption = try saved.map { try JSONDecoder().decode(UploadResumption.self, from: $0) }
    let upload = Upload(
        try Request(.post, "/videos"), from: file, over: stack, by: .resumable(), options: UploadOptions(journal: .none),
        resuming: resumption)
    do {
        return try await upload.response()
    } catch {
        if let resumption = upload.resumption { save(try JSONEncoder().encode(resumption)) }
        throw error
    }
}

func uploadWithToken(_ file: URL, over stack: HTTPStack, token: @escaping @Sendable () async throws -> String) async throws -> Response {
    let upload = Upload(from: file, over: stack, by: .tus) { _ in
        try Request(.post, url: "https://files.example/", headers: [.authorization: "Bearer \(try await token())"])
    }
    return try await upload.response()
}

func tryUpload(_ upload: Upload) async -> String {
    do {
        return "\(try await upload.response().status.code)"
    } catch let error as TransferError where error.code == .outcomeUnknown {
        return "ask the server whether it has the file"
    } catch {
        return "stopped at \(upload.resumption?.bytes ?? 0) bytes: \(error.localizedDescription)"
    }
}
