import Errand
import Foundation

// The samples of the article "Forms with files", to the letter: `ReadmeTests` holds each block of it against this file.

func uploadPhoto(at url: URL, over client: APIClient) async throws {
    try await client.post("/photos", body: .multipart(["title": "Sunset", "photo": .file(url)]))
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
    var request = try Request(.post, "/reports", headers: [.contentType: form.contentType])
    request.body = try form.body().reportingProgress { print($0) }
    return try await stack.send(request)
}

func printParts(of response: Response) async throws {
    let type = response.headers[.contentType].flatMap { MediaType($0) }
    guard let boundary = type?[parameter: "boundary"].flatMap({ MultipartBoundary($0) }) else { return }
    var reader = MultipartReader(boundary: boundary)
    for try await chunk in response.body {
        reader.append(chunk)
        while let event = try reader.next() {
            switch event {
            case .head(let head): print(head.disposition?.safeFileName() ?? "a part")
            case .content(let bytes): print(bytes.count)
            case .end: print("complete")
            }
        }
    }
    try reader.finish()
}
