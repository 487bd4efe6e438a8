import Errand
import ErrandRecording
import ErrandTesting
import Foundation
import TestSupport
import Testing

@Suite(.timeLimit(.minutes(5))) struct HARExportTests {
    private let stub = StubTransport(
        Stub(.get, "/flaky").responds(.status(.serviceUnavailable), .json(["id": 7]), repeatingLast: true),
        Stub().responds(.json(["id": 7])))

    private func get(_ stack: HTTPStack, _ path: String) async throws -> Data {
        try await stack.server("https://a.example").send(Request(.get, PathTemplate(verbatim: path))).body.collect()
    }

    private func entries(_ folder: TestFolder) throws -> [HAREntry] { try HARLog(fileContent: folder.read("a.har")).entries }

    @Test func anExportSendsEachRequestAgain() async throws {
        let folder = try TestFolder("export")
        for count in 1...3 {
            let body = try await stub.exportHAR(toPath: folder.file("a.har")) { try await get($0, "/x?n=\(count)") }
            #expect(String(decoding: body, as: UTF8.self) == #"{"id":7}"# && stub.requests.count == count)
            #expect(try entries(folder).map(\.request.url) == ["https://a.example/x?n=\(count)"], "the file is replaced")
        }
    }

    @Test func eachAttemptIsAnEntry() async throws {
        let folder = try TestFolder("export")
        _ = try await HTTPStack.sorted(around: stub).exportHAR(toPath: folder.file("new/a.har")) {
            try await get($0.retry(RetryPolicy(backoff: .immediate)), "/flaky")
        }
        let written = try HARLog(fileContent: Data(contentsOf: URL(fileURLWithPath: folder.file("new/a.har"))))
        #expect(written.entries.map(\.response.status) == [503, 200])
    }

    @Test func aFailedExportWritesWhatWasExchanged() async throws {
        let folder = try TestFolder("export")
        await #expect(throws: TestError.self) {
            try await stub.exportHAR(toPath: folder.file("a.har")) { stack in
                _ = try await get(stack, "/x")
                throw TestError()
            }
        }
        #expect(try entries(folder).count == 1)
    }

    @Test func anExportWithoutAnExchangeIsAnEmptyFile() async throws {
        let folder = try TestFolder("export")
        try await stub.exportHAR(toPath: folder.file("a.har")) { _ in }
        #expect(try entries(folder).isEmpty)
    }

    @Test func registeredSecretsAreNotWritten() async throws {
        let folder = try TestFolder("export")
        await #expect(throws: SecretFoundError.self) {
            try await stub.exportHAR(toPath: folder.file("a.har"), secrets: ["r3gistered"]) { try await get($0, "/r3gistered") }
        }
        #expect(!FileManager.default.fileExists(atPath: folder.file("a.har")))
    }

    /// Otherwise, the exchanges would be lost after they were made.
    @Test func aPathThatCannotBeWrittenIsRefusedBeforeTheExport() async throws {
        let folder = try TestFolder("export")
        for path in [folder.file(""), folder.path, "", folder.file("a\0b.har"), "/dev/null/x/a.har", "/dev/null"] {
            await #expect(throws: FileWriteError.self, "\(path)") {
                try await stub.exportHAR(toPath: path) { _ = try await get($0, "/x") }
            }
        }
        #expect(stub.requests.isEmpty)
        #expect(try FileManager.default.contentsOfDirectory(atPath: folder.path).isEmpty)
    }

    /// Secrets come from the environment.
    @Test func aSecretThatIsTooShortIsAnErrorAndAnEmptyOneIsIgnored() async throws {
        let folder = try TestFolder("export")
        let error = await #expect(throws: InvalidRecordingError.self) {
            try await stub.exportHAR(toPath: folder.file("a.har"), secrets: ["r3gistered", "abc"]) { _ = try await get($0, "/x") }
        }
        #expect(error?.description.contains("abc") == false && stub.requests.isEmpty)
        _ = try await stub.exportHAR(toPath: folder.file("a.har"), secrets: [""]) { try await get($0, "/x") }
        #expect(try entries(folder).count == 1)
    }
}
