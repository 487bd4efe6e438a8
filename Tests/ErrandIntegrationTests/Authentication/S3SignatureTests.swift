#if SWIFT_NIO && Auth
internal import Errand
internal import Foundation
internal import TestSupport
internal import Testing

/// moto's S3, which works out each signature by itself.
@Suite(.enabled(if: RealServer.moto.isHere, Comment(rawValue: RealServer.moto.missing)), .timeLimit(.minutes(5)))
struct S3SignatureTests {
    private func signer(secret: String? = nil, id: String? = nil) throws -> AWSSignatureV4 {
        let key = try RealServer.moto.accessKey()
        return .awsV4(
            AWSCredentials(accessKeyID: id ?? key.id, secretAccessKey: secret ?? key.secret), region: "eu-central-1", service: "s3")
    }

    /// Runs `body` with a bucket of its own, and a stack that signs.
    private func withBucket<Result>(_ body: (HTTPStack, String, HTTPStack) async throws -> Result) async throws -> Result {
        let url = try RealServer.moto.url("/bucket-\(UUID().uuidString.lowercased())")
        return try await withWire { stack, _ in
            let signing = stack.sign(with: try signer())
            let xml =
                #"<CreateBucketConfiguration xmlns="http://s3.amazonaws.com/doc/2006-03-01/"><LocationConstraint>eu-central-1</LocationConstraint></CreateBucketConfiguration>"#
            let response = try await signing.send(Request(.put, url: url, body: .text(xml)))
            let text = try await response.body.collect().asText
            try #require(response.status == .ok, "\(text)")
            return try await body(signing, url, stack)
        }
    }

    private func text(_ stack: HTTPStack, _ request: Request) async throws -> (status: HTTPResponse.Status, text: String) {
        let response = try await stack.send(request)
        return (response.status, try await response.body.collect().asText)
    }

    @Test(arguments: [true, false]) func anObjectIsStoredAndLoaded(isFile: Bool) async throws {
        let content = Data.seeded(100_000)
        let folder = try TestFolder("stored")
        let path = try folder.write(content, to: "body")
        try await withBucket { stack, bucket, _ in
            let body: RequestBody = isFile ? try .file(atPath: path) : .data(content)
            let stored = try await text(stack, try Request(.put, url: bucket + "/a/b.bin", headers: [.contentType: "x/y"], body: body))
            #expect(stored.status == .ok, "\(stored.text)")
            let read = try await stack.send(Request(.get, url: bucket + "/a/b.bin"))
            let isWhole = try await read.body.collect() == content
            #expect(read.status == .ok && isWhole)
            let list = try await text(stack, try Request(.get, url: bucket + "?list-type=2&prefix=a/&delimiter="))
            #expect(list.status == .ok && list.text.contains("<Key>a/b.bin</Key>"), "\(list.text)")
            let gone = try await text(stack, try Request(.delete, url: bucket + "/a/b.bin"))
            #expect(gone.status == .noContent)
        }
    }

    @Test func aWrongSecretIsRefused() async throws {
        try await withBucket { stack, bucket, plain in
            let stored = try await text(stack, try Request(.put, url: bucket + "/k", body: .text("v")))
            #expect(stored.status == .ok, "\(stored.text)")
            let wrong = try await text(plain.sign(with: try signer(secret: "wrong")), try Request(.get, url: bucket + "/k"))
            #expect(wrong.status == .forbidden && wrong.text.contains("<Code>SignatureDoesNotMatch</Code>"), "\(wrong.text)")
            let unknown = try await text(plain.sign(with: try signer(id: "AKIAUNKNOWN")), try Request(.get, url: bucket + "/k"))
            #expect(unknown.status == .forbidden && unknown.text.contains("<Code>InvalidAccessKeyId</Code>"), "\(unknown.text)")
        }
    }

    /// What is changed after the signature was made is noticed.
    @Test func aRequestChangedInTransitIsRefused() async throws {
        try await withBucket { _, bucket, plain in
            let changed = try await text(
                plain.wrapped(by: ClosureMiddleware(changing: { $0.query = ["versions": ""] })).sign(with: try signer()),
                try Request(.get, url: bucket, query: ["list-type": "2"]))
            #expect(changed.status == .forbidden && changed.text.contains("SignatureDoesNotMatch"), "\(changed.text)")
        }
    }

    static let keys = [
        "a b", "a+b", "a%20b", "100%", "ä€😀", "a=b&c=d", "~-._", "!*'()", "a:b@c;d,e$f", "[x]", "quo\"te", "back\\slash", "e\u{301}",
        "a//b", "trailing/", "a?b#c", "日本/語",
    ]

    @Test(arguments: keys) func aKeyMayHaveAnyCharacter(key: String) async throws {
        let allowed = CharacterSet(charactersIn: "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~/")
        let path = try #require(key.addingPercentEncoding(withAllowedCharacters: allowed))
        try await withBucket { stack, bucket, _ in
            let stored = try await text(stack, try Request(.put, url: "\(bucket)/\(path)", body: .text(key)))
            #expect(stored.status == .ok, "\(stored.text)")
            let read = try await text(stack, try Request(.get, url: "\(bucket)/\(path)"))
            #expect(read.status == .ok && read.text == key, "\(read.text)")
            // The key as a value of the query, with all of it encoded: moto, unlike the services of AWS, reads the query as it is written.
            let value = path.replacing("/", with: "%2F")
            let list = try await text(stack, try Request(.get, url: "\(bucket)?list-type=2&prefix=\(value)"))
            #expect(list.status == .ok && list.text.contains("<KeyCount>1</KeyCount>"), "\(list.text)")
        }
    }
}

extension Data {
    fileprivate var asText: String { String(decoding: self, as: UTF8.self) }
}
#endif
