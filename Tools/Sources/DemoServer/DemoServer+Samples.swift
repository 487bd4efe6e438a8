import Foundation
import HTTPTypes
import Hummingbird

// Resources for the examples, beside the notes: JSON of several kinds, an echo and an image.

extension DemoServer {
    /// What `/v1/echo` received.
    private struct Echo: ResponseEncodable {
        var method: String
        var target: String
        /// The names are in lower case.
        var headers: [String: String]
        var body: String
    }

    static func addSamples(to router: Router<BasicRequestContext>) {
        // Snake case, and dates with and without a fraction of a second.
        router.get("v1/articles") { _, _ in
            json(
                """
                [{"article_id":1,"title":"One","published_at":"2026-01-02T03:04:05Z"},
                 {"article_id":2,"title":"Two","published_at":"2026-01-02T03:04:05.500Z"}]
                """)
        }
        // An envelope around each value, and a code that is not 0 for a failure with the status 200.
        router.get("v1/envelope/user") { _, _ in json(#"{"code":0,"message":"ok","data":{"id":7,"name":"Ada"}}"#) }
        router.get("v1/envelope/denied") { _, _ in json(#"{"code":1001,"message":"not allowed","request_id":"r-17"}"#) }
        router.get("v1/envelope/nothing") { _, _ in json(#"{"code":0,"message":"ok"}"#) }
        router.post("v1/envelope/orders") { _, _ -> Response in
            var response = json(#"{"code":40012,"message":"The balance is too low.","request_id":"r-18"}"#)
            response.status = .conflict
            return response
        }
        // A JSON object on each line.
        router.get("v1/favorites") { _, _ in
            Response(
                status: .ok, headers: [.contentType: "application/jsonl"],
                body: ResponseBody { writer in
                    for (photo, count) in [("a", 2), ("b", 1), ("a", 3)] {
                        try await writer.write(
                            ByteBuffer(string: #"{"photoIdentifier":"\#(photo)","favoriteCount":\#(count)}"# + "\n"))
                    }
                    try await writer.finish(nil)
                })
        }
        router.get("v1/ip") { _, _ in json(#"{"ip":"127.0.0.1"}"#) }
        router.get("v1/photo") { _, _ in
            Response(status: .ok, headers: [.contentType: "image/png"], body: .init(byteBuffer: ByteBuffer(bytes: onePixel)))
        }
        for method in [HTTPRequest.Method.get, .post, .put, .patch, .delete] {
            router.on("v1/echo", method: method) { request, _ in
                var request = request
                let body = try await request.collectBody(upTo: 1024 * 1024)
                return Echo(
                    method: request.method.rawValue, target: request.uri.string,
                    headers: Dictionary(request.headers.map { ($0.name.canonicalName, $0.value) }) { "\($0), \($1)" },
                    body: String(buffer: body))
            }
        }
    }

    /// Resources that return a body in its own format, and an error as problem details.
    static func addFormats(to router: Router<BasicRequestContext>) {
        router.post("v1/mirror") { request, _ -> Response in
            var request = request
            let body = try await request.collectBody(upTo: 1024 * 1024)
            return Response(
                status: .ok, headers: [.contentType: request.headers[.contentType] ?? "application/octet-stream"],
                body: .init(byteBuffer: body))
        }
        router.get("v1/problem") { _, _ -> Response in
            var response = json(
                #"{"type":"https://shop.example/problems/out-of-credit","title":"Your credit is too low.","status":403,"balance":3}"#)
            response.status = .forbidden
            response.headers[.contentType] = "application/problem+json"
            return response
        }
    }

    /// A chat with a model that repeats the last question, word by word, and an upload of a form.
    static func addChatAndForms(to router: Router<BasicRequestContext>) {
        struct Chat: Decodable {
            struct Message: Decodable { var role: String; var content: String }
            var messages: [Message]
        }
        // A question of "break off" ends the stream before [DONE].
        router.post("v1/chat/completions") { request, context -> Response in
            guard request.headers[.authorization] == "Bearer demo" else { return Response(status: .unauthorized) }
            let question = try await request.decode(as: Chat.self, context: context).messages.last?.content ?? ""
            return Response(
                status: .ok, headers: [.contentType: "text/event-stream", .cacheControl: "no-store"],
                body: ResponseBody { writer in
                    try await writer.write(ByteBuffer(string: #"data: {"choices":[{"delta":{"role":"assistant"}}]}"# + "\n\n"))
                    for word in "You said: \(question)".split(separator: " ") {
                        let chunk = ["choices": [["delta": ["content": "\(word) "]]]]
                        let text = String(decoding: try JSONEncoder().encode(chunk), as: UTF8.self)
                        try await writer.write(ByteBuffer(string: "data: \(text)\n\n"))
                    }
                    if question != "break off" { try await writer.write(ByteBuffer(string: "data: [DONE]\n\n")) }
                    try await writer.finish(nil)
                })
        }
        router.post("v1/reports") { request, _ -> Response in
            guard request.headers[.contentType]?.hasPrefix("multipart/form-data; boundary=") == true else {
                return Response(status: .unsupportedMediaType)
            }
            var count = 0
            for try await chunk in request.body { count += chunk.readableBytes }
            var response = json(#"{"id":1,"bytes":\#(count)}"#)
            response.status = .created
            return response
        }
    }

    static func json(_ text: String) -> Response {
        Response(status: .ok, headers: [.contentType: "application/json"], body: .init(byteBuffer: ByteBuffer(string: text)))
    }

    /// A gray pixel as PNG, 67 bytes long.
    private static let onePixel =
        Data(base64Encoded: "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAAAAAA6fptVAAAACklEQVR4nGNoAAAAggCBd81ytgAAAABJRU5ErkJggg==") ?? Data()
}
