import Errand
import ErrandTesting
import Foundation
import TestSupport
import Testing

@testable import ErrandCore

@Suite(.timeLimit(.minutes(5))) struct MultipartFormTests {
    private static let boundary = MultipartBoundary("b")!

    private func text(_ body: RequestBody, from offset: Int64 = 0) async throws -> String {
        try await chunks(of: body.open(from: offset)).joined()
    }

    @Test func aFormIsWrittenAsBrowsersDo() async throws {
        let folder = try TestFolder("form")
        let path = try folder.write("<svg/>", to: "a.svg")
        var form = MultipartForm(boundary: Self.boundary)
        form.append("title", "Sunset \(1)")
        form.append("data", .data(Data("x".utf8), fileName: "a\"b\r\n.bin"))
        form.append("file", .file(URL(fileURLWithPath: path)))
        form.append(
            "file", .file(atPath: path, fileName: "b", contentType: "x/y"), headers: [.contentLanguage: "en", .contentType: "z/z"])
        form.append("json", .text("{}", contentType: "application/json"))
        form.append("stream", .body(.stream(AsyncStream<Data> { $0.finish() }, length: 0), fileName: "s"))
        let body = try form.body()
        let expected = """
            --b
            Content-Disposition: form-data; name="title"

            Sunset 1
            --b
            Content-Disposition: form-data; name="data"; filename="a%22b%0D%0A.bin"
            Content-Type: application/octet-stream

            x
            --b
            Content-Disposition: form-data; name="file"; filename="a.svg"
            Content-Type: image/svg+xml

            <svg/>
            --b
            Content-Disposition: form-data; name="file"; filename="b"
            Content-Type: x/y
            Content-Language: en

            <svg/>
            --b
            Content-Disposition: form-data; name="json"
            Content-Type: application/json

            {}
            --b
            Content-Disposition: form-data; name="stream"; filename="s"


            --b--

            """.replacing("\n", with: "\r\n")
        #expect(body.length == Int64(expected.utf8.count) && body.replay == .oneShot)
        #expect(try await text(body) == expected)
        await #expect(throws: BodyAlreadyUsedError.self) { try await body.open() }
        #expect(form.contentType == "multipart/form-data; boundary=b")
    }

    @Test func aSmallFormInMemoryIsBytesAndALargeOneAStream() async throws {
        let form: MultipartForm = ["a": "1", "b": .data(Data("2".utf8), fileName: nil)]
        let body = try RequestBody.multipart(form)
        #expect(body.bufferedData != nil && body.replay == .seekable)
        let large = try MultipartForm([.init("a", .data(Data(count: 2_000_000), fileName: "x"))], boundary: Self.boundary).body()
        #expect(large.bufferedData == nil && large.replay == .seekable)
        let pieces = try await chunks(of: large.open()).map(\.utf8.count)
        #expect(pieces.reduce(0, +) == large.length.map(Int.init) && (pieces.max() ?? 0) <= 64 * 1024)
        #expect(try MultipartForm(boundary: Self.boundary).body().bufferedData == Data("--b--\r\n".utf8))
    }

    @Test func aFormOfFilesIsSentFromAnyByteAsOftenAsWanted() async throws {
        let file = try TemporaryFile("0123456789", lengthBytes: 10)
        let form = MultipartForm(
            [.init("a", "x"), .init("f", .file(atPath: file.path)), .init("g", .file(atPath: file.path))], boundary: Self.boundary)
        let body = try form.body()
        #expect(body.replay == .seekable && body.bufferedData == nil)
        let whole = try await text(body)
        #expect(body.length == Int64(whole.utf8.count))
        for offset in 0...whole.utf8.count {
            let rest = String(decoding: Array(whole.utf8.dropFirst(offset)), as: UTF8.self)
            #expect(try await text(body, from: Int64(offset)) == rest)
        }
        await eventually { file.openDescriptors ?? 0 == 0 }
    }

    @Test func aFormHasALengthIfEachPartHasALength() throws {
        let open: @Sendable (Int64) async throws -> any BodySource = { _ in ScriptedBodySource(["abc"]) }
        let known = try MultipartForm([.init("s", .body(.stream(length: 3, open: open)))], boundary: Self.boundary).body()
        #expect(known.length == 61 && known.replay == .restartable)
        let unknown = try MultipartForm([.init("s", .body(.stream(open: open)))], boundary: Self.boundary).body()
        #expect(unknown.length == nil && unknown.replay == .restartable)
    }

    @Test func aStreamOfAnotherLengthFails() async throws {
        for length in [2, 4] as [Int64] {
            let body = try MultipartForm([.init("s", .body(.stream(length: length) { _ in ScriptedBodySource(["abc"]) })), .init("a", "x")])
                .body()
            await #expect(throws: RequestBodyLengthError.self) { try await chunks(of: body.open()) }
        }
    }

    @Test(arguments: [0, 9, 11, 300_000] as [UInt64]) func aFileThatChangesItsLengthFails(_ length: UInt64) async throws {
        let file = try TemporaryFile("0123456789")
        let body = try MultipartForm([.init("f", .file(atPath: file.path))]).body()
        try file.truncate(to: length)
        let error = await #expect(throws: FileReadError.self) { try await chunks(of: body.open()) }
        #expect(error?.path == file.path && error?.operation == "read")
        #expect(error?.description.contains("since the request was made") == true)
        await eventually { file.openDescriptors ?? 0 == 0 }
    }

    @Test func aMissingFileIsAnErrorBeforeSending() throws {
        #expect(throws: FileReadError.self) { try MultipartForm([.init("f", .file(atPath: "/tmp/none/none"))]).body() }
        let remote = try #require(URL(string: "https://a.example/x"))
        #expect(throws: FileReadError.self) { try MultipartForm([.init("f", .file(remote))]).body() }
    }

    @Test func bytesWithTheBoundaryAndInvalidTypesAreRefused() throws {
        let form = MultipartForm([.init("a", "x"), .init("b", "y--bz")], boundary: Self.boundary)
        let error = #expect(throws: MultipartError.self) { try form.body() }
        #expect(error?.code == .boundaryInContent)
        #expect(error?.description == "the part 2 of the form contains the boundary; use a random boundary (the default)")
        let type = #expect(throws: MultipartError.self) { try MultipartForm([.init("a", .text("x", contentType: "a/b\r\nX: 1"))]).body() }
        #expect(type?.code == .invalidContentType)
    }

    @Test func progressCountsTheWholeBody() async throws {
        let file = try TemporaryFile("x", lengthBytes: 300_000)
        let body = try MultipartForm([.init("f", .file(atPath: file.path))]).body()
        let reports = RecordingList<TransferProgress>()
        _ = try await chunks(of: body.reportingProgress(every: .zero) { reports.record($0) }.open())
        #expect(reports.all.count > 4 && reports.all.first?.bytes == 0)
        #expect(reports.all.last == TransferProgress(bytes: try #require(body.length), total: body.length))
    }

    @Test func anAbandonedFormClosesItsFile() async throws {
        let file = try TemporaryFile("x", lengthBytes: 300_000)
        try #require(file.openDescriptors != nil, "no /proc here")
        let body = try MultipartForm([.init("f", .file(atPath: file.path))]).body()
        #expect(file.openDescriptors == 0)
        let source = try await body.open()
        _ = try await source.next()
        _ = try await source.next()
        #expect(file.openDescriptors == 1)
        source.abandon()
        source.abandon()
        await eventually { file.openDescriptors == 0 }
        #expect(try await source.next() == nil)
    }

    private struct Seen: Sendable {
        var fields: [String] = []
        var body = Data()
    }

    @Test func aTypedCallUploadsAFormWithItsLengthAndItsTypeOnce() async throws {
        let file = try TemporaryFile("x", lengthBytes: 300_000)
        let seen = Watched(Seen())
        let server = try RawServer.responding { connection, request, body in
            let fields = ["Content-Type", "Content-Length", "Transfer-Encoding"].flatMap(request.values)
            seen.change { $0 = Seen(fields: fields, body: body) }
            try connection.write("HTTP/1.1 204 No Content\r\n\r\n")
        }
        defer { server.stop() }
        let form: MultipartForm = ["title": "Sunset", "photo": .file(atPath: file.path, fileName: "a.jpg")]
        try await APIClient(.bare.server(server.url(""))).post("/photos", body: .multipart(form))
        let length = try #require(form.body().length)
        #expect(seen.value.fields == [form.contentType, "\(length)"] && seen.value.body.count == Int(length))
        var reader = MultipartReader(boundary: form.boundary)
        reader.append(seen.value.body)
        var (heads, count) = ([MultipartHead](), 0)
        while let event = try reader.next() {
            switch event {
            case .head(let head): heads.append(head)
            case .content(let bytes): count += bytes.count
            case .end: break
            }
        }
        try reader.finish()
        #expect(heads.map(\.name) == ["title", "photo"] && heads.last?.contentType?.essence == "image/jpeg" && count == 300_006)
    }

    @Test func descriptionsHaveNoContents() {
        let form: MultipartForm = ["title": "secret", "a\nb": .text("secret", fileName: "x.txt")]
        #expect(form.description == "multipart form: title, a\\u{a}b" && !dumped(form).contains("secret"))
        #expect(form.parts[1].content.description == "content, x.txt")
    }
}
