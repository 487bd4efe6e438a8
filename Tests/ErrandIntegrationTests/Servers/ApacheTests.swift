#if SWIFT_NIO
internal import Errand
internal import Foundation
internal import TestSupport
internal import Testing

@Suite(.enabled(if: RealServer.apache.isHere, Comment(rawValue: RealServer.apache.missing)), .timeLimit(.minutes(5)))
struct ApacheTests {
    private static let letters = String(repeating: "abcdefghijklmnopqrstuvwxyz", count: 1000)
    private static let file: PathTemplate = "/letters.txt"

    @Test func aFileComesWhole() async throws {
        try await withClient(of: .apache) { client in
            let response = try await client.response(Endpoint<String>.get(Self.file))
            let isWhole = response.value == Self.letters
            #expect(isWhole)
            #expect(response.headers[.contentType] == "text/plain")
            #expect(response.headers[.contentLength] == "26000")
            #expect(response.headers[.server]?.hasPrefix("Apache") == true)
        }
    }

    @Test(arguments: [
        ("bytes=0-4", "abcde", "bytes 0-4/26000"), ("bytes=25998-", "yz", "bytes 25998-25999/26000"),
        ("bytes=-3", "xyz", "bytes 25997-25999/26000"),
    ])
    func aRangeIsAPart(range: String, content: String, contentRange: String) async throws {
        try await withClient(of: .apache) { client in
            let response = try await client.response(Endpoint<String>.get(Self.file, headers: [.range: range]))
            #expect(response.status == .partialContent)
            #expect(response.value == content)
            #expect(response.headers[.contentRange] == contentRange)
        }
    }

    @Test func severalRangesAreOneBodyOfParts() async throws {
        try await withClient(of: .apache) { client in
            let response = try await client.response(Endpoint<String>.get(Self.file, headers: [.range: "bytes=0-2,100-102"]))
            #expect(response.status == .partialContent)
            #expect(response.headers[.contentType]?.hasPrefix("multipart/byteranges; boundary=") == true)
            #expect(response.value.contains("bytes 0-2/26000") && response.value.contains("bytes 100-102/26000"))
        }
    }

    @Test func aRangeBeyondTheEndIsAnError() async throws {
        try await withClient(of: .apache) { client in
            let error = try await failure(StatusError.self) {
                try await client.value(Endpoint<String>.get(Self.file, headers: [.range: "bytes=30000-"]))
            }
            #expect(error.status == .rangeNotSatisfiable)
        }
    }

    @Test func anUnchangedFileHasNoBody() async throws {
        try await withClient(of: .apache) { client in
            let first = try await client.response(Endpoint<Void>.get(Self.file))
            let (tag, date) = (try #require(first.headers[.eTag]), try #require(first.headers[.lastModified]))
            for condition: HTTPFields in [[.ifNoneMatch: tag], [.ifModifiedSince: date]] {
                let response = try await client.stack.send(Request(.get, Self.file, headers: condition))
                #expect(response.status == .notModified)
                #expect(try await response.body.collect().isEmpty)
            }
            let resumed = try await client.response(Endpoint<String>.get(Self.file, headers: [.range: "bytes=25990-", .ifRange: tag]))
            #expect(resumed.status == .partialContent)
            #expect(resumed.value == "qrstuvwxyz")
        }
    }

    @Test func headReturnsTheLengthWithoutTheBody() async throws {
        try await withClient(of: .apache) { client in
            let response = try await client.send(Endpoint<Void>.head(Self.file))
            #expect(response.headers[.contentLength] == "26000")
            #expect(try await response.body.collect().isEmpty)
        }
    }

    @Test func thePasswordOpensTheFolder() async throws {
        try await withClient(of: .apache) { client in
            let call = Endpoint<String>.get("/basic/secret.txt", headers: [.authorization: basic("joe", "pw")])
            let secret = try await client.value(call)
            #expect(secret == "joe's\n")
        }
    }

    @Test(arguments: [nil, basic("joe", "wrong"), basic("jim", "pw"), "Basic ???", "Bearer pw"])
    func theFolderIsClosedWithoutThePassword(authorization: String?) async throws {
        try await withClient(of: .apache) { client in
            let fields: HTTPFields = authorization.map { [.authorization: $0] } ?? [:]
            let error = try await failure(StatusError.self) {
                try await client.value(Endpoint<String>.get("/basic/secret.txt", headers: fields))
            }
            #expect(error.status == .unauthorized)
            #expect(error.head.headerFields[.wwwAuthenticate] == #"Basic realm="joe only""#)
        }
    }

    @Test func aFolderRedirectsToItsPathWithASlash() async throws {
        try await withClient(of: .apache, layers: { $0.redirect() }) { client in
            let call = Endpoint<Void>.get("/basic", headers: [.authorization: basic("joe", "pw")])
            let error = try await failure(StatusError.self) { try await client.value(call) }
            // Found, and no listing of it allowed: what counts is that the password went along within the origin.
            #expect(error.status == .forbidden || error.status == .notFound)
            #expect(error.request?.url?.path == "/basic/")
        }
    }

    @Test func aMissingFileIsAnError() async throws {
        try await withClient(of: .apache) { client in
            let error = try await failure(StatusError.self) { try await client.value(Endpoint<String>.get("/missing")) }
            #expect(error.status == .notFound)
            #expect(error.bodyIsWhole && !error.bodyPrefix.isEmpty)
        }
    }
}
#endif
