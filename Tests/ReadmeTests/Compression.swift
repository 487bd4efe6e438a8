import Errand
import Foundation

// The samples of the article "Compression", unchanged: `ReadmeTests` compares each sample with this file.

func readCompressedReport() async throws {
    let response = try await HTTPStack.default.send(Request(.get, url: "https://a.example/report"))
    print(response.metadata.contentCoding ?? "not encoded")  // gzip
    print(response.metadata.encodedLength ?? 0)  // the bytes on the wire, if the server declared them
    print(try await response.text())  // decoded
}

func readReportOfAtMost100MB() async throws -> Data {
    var request = try Request(.get, url: "https://a.example/report")
    request.options.decompress = .use(DecompressionLimits(limitBytes: 100_000_000))
    do {
        return try await HTTPStack.default.send(request).data()
    } catch let error as ContentDecodingError where error.code.isLimit {
        print(error)  // GET https://a.example/report: status 200, the body can't be decoded: it has more than …
        throw error
    }
}

func sendLogs(_ lines: String) async throws {
    let stack = HTTPStack.default.compressRequests(nil).retry()
    var request = try Request(.post, url: "https://a.example/logs")
    request.body = .text(lines)
    request.options.compressRequests = .gzip
    _ = try await stack.send(request)
}
