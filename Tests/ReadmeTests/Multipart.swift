import Errand
import Foundation

// The samples of the article "Forms with files", unchanged: `ReadmeTests` compares each sample with this file.

func uploadPhoto(at url: URL, named title: String, over client: APIClient) async throws {
    try await client.post("/photos", body: .multipart(["title": .text(title), "album": "Summer", "photo": .file(url)]))
}

func makeReport(log: URL, thumbnail: Data) -> MultipartForm {
    var form = MultipartForm()
    form.append("summary", "It failed twice")
    form.append("details", .text("{\"build\":7}", contentType: "application/json"))
    form.append("files", .file(log, fileName: "today.log", contentType: "text/plain"))
    form.append("files", .data(thumbnail, fileName: "screen.png"))
    return form
}

func sendForm(_ form: MultipartForm, over stack: HTTPStack) async throws -> Response {
    try await stack.send(Request(.post, "/reports", body: .multipart(form).reportingProgress { print($0) }))
}

func printParts(of response: Response) async throws {
    for try await part in try response.parts() {
        guard part.head.contentType?.isJSON == true else { continue }
        let data = try await part.collect(upTo: 64 * 1024)
        print(part.head.disposition?.safeFileName() ?? "a part", data.count)
    }
}

func countParts(in pieces: [Data], boundary: MultipartBoundary) throws -> Int {
    var (reader, count) = (MultipartReader(boundary: boundary), 0)
    for piece in pieces {
        reader.append(piece)
        while let event = try reader.next() { if case .head = event { count += 1 } }
    }
    try reader.finish()
    return count
}
