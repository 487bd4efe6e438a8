import Foundation
import HTTPTypes
import Hummingbird

// What the examples need beside the notes: JSON of several kinds, an echo and an image.

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
        router.get("v1/envelope/denied") { _, _ in json(#"{"code":1001,"message":"not allowed"}"#) }
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

    private static func json(_ text: String) -> Response {
        Response(status: .ok, headers: [.contentType: "application/json"], body: .init(byteBuffer: ByteBuffer(string: text)))
    }

    /// A gray pixel as PNG, 67 bytes long.
    private static let onePixel =
        Data(base64Encoded: "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAAAAAA6fptVAAAACklEQVR4nGNoAAAAggCBd81ytgAAAABJRU5ErkJggg==") ?? Data()
}
