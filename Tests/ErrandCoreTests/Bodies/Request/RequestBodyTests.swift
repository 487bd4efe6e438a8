import Errand
import TestSupport
import Testing

@Suite(.timeLimit(.minutes(5))) struct RequestBodyTests {
    @Test func kindsDeclareLengthAndReplay() throws {
        let file = try TemporaryFile("0123456789")
        let stream = AsyncThrowingStream<Data, any Error> { $0.finish() }
        let open: @Sendable (Int64) async throws -> any BodySource = { _ in ScriptedBodySource() }
        let kinds: [(RequestBody, Int64?, RequestBody.Replay, String)] = [
            (.empty, 0, .seekable, "empty"), (.data(Data()), 0, .seekable, "0 bytes"), (.text("é"), 2, .seekable, "2 bytes"),
            (try .file(atPath: file.path), 10, .seekable, "file, 10 bytes"),
            (try .file(URL(fileURLWithPath: file.path), range: 2..<5), 3, .seekable, "file, 3 bytes"),
            (.stream(stream), nil, .oneShot, "stream, unknown length, oneShot"),
            (.stream(stream, length: 7), 7, .oneShot, "stream, 7 bytes, oneShot"),
            (.stream(open: open), nil, .restartable, "stream, unknown length, restartable"),
            (.stream(length: 9, replay: .seekable, open: open), 9, .seekable, "stream, 9 bytes, seekable"),
        ]
        for (body, length, replay, description) in kinds {
            #expect(body.length == length && body.replay == replay && body.description == description && body.isEmpty == (length == 0))
        }
        #expect(RequestBody.text("secret").bufferedData == Data("secret".utf8))
        #expect(!dumped(RequestBody.text("secret")).contains("secret"))
        #expect(
            !RequestBody.Replay.oneShot.canRestart && RequestBody.Replay.restartable.canRestart && !RequestBody.Replay.restartable.canSeek)
    }

    @Test func bytesAreReadFromAnyOffsetAsOftenAsWanted() async throws {
        let body = RequestBody.text("hello")
        for (offset, expected): (Int64, [String]) in [(0, ["hello"]), (2, ["llo"]), (5, []), (9, []), (0, ["hello"])] {
            #expect(try await chunks(of: body.open(from: offset)) == expected)
        }
        #expect(try await chunks(of: RequestBody.empty.open()) == [])
        let source = try await body.open()
        source.abandon()
        #expect(try await source.next() == nil)
    }

    @Test(arguments: [
        (nil as Range<Int64>?, 0 as Int64, "0123456789"), (2..<5, 0, "234"), (2..<5, 1, "34"), (2..<5, 9, ""), (10..<10, 0, ""),
        (0..<10, 9, "9"),
    ])
    func aFileIsReadWholeOrInPart(_ range: Range<Int64>?, _ offset: Int64, _ expected: String) async throws {
        let file = try TemporaryFile("0123456789")
        let body = try RequestBody.file(atPath: file.path, range: range)
        #expect(try await chunks(of: body.open(from: offset)).joined() == expected)
    }

    @Test func aFileThatCannotBeReadIsATypedError() throws {
        let file = try TemporaryFile("0123456789")
        let missing = #expect(throws: FileReadError.self) { try RequestBody.file(atPath: file.path + ".none") }
        #expect(missing?.operation == "read" && missing?.code == 2 && missing?.path == file.path + ".none")
        #expect(missing?.description == "cannot read '\(file.path).none': no such file or folder (errno 2)")
        let folder = #expect(throws: FileReadError.self) { try RequestBody.file(atPath: "/tmp") }
        #expect(folder?.description == "cannot read '/tmp': it is a folder (errno 21)")
        let device = #expect(throws: FileReadError.self) { try RequestBody.file(atPath: "/dev/null") }
        #expect(device?.description == "cannot read '/dev/null': it is not a regular file")
        #expect(device?.failureReason == "It is not a regular file.")
        for range: Range<Int64> in [0..<11, 11..<12, -1..<3] {
            let error = #expect(throws: FileReadError.self) { try RequestBody.file(atPath: file.path, range: range) }
            #expect(
                error?.description
                    == "cannot read '\(file.path)': the range \(range.lowerBound)..<\(range.upperBound) is not within its 10 bytes")
        }
    }

    @Test func aFileThatIsGoneWhenItIsSentFails() async throws {
        var file: TemporaryFile? = try TemporaryFile("0123456789")
        let body = try RequestBody.file(atPath: #require(file?.path))
        file = nil
        let error = await #expect(throws: FileReadError.self) { try await body.open() }
        #expect(error?.operation == "open")
        #expect(error?.description.hasPrefix("cannot open '/") == true)
    }

    @Test func aFileIsNeverLoadedWhole() async throws {
        let lengthBytes: Int64 = 300 * 1024 * 1024 + 1
        let file = try TemporaryFile("x", lengthBytes: UInt64(lengthBytes))
        let source = try await RequestBody.file(atPath: file.path).open()
        var total: Int64 = 0
        var largest = 0
        while let chunk = try await source.next() {
            total += Int64(chunk.count)
            largest = max(largest, chunk.count)
        }
        #expect(total == lengthBytes)
        #expect(largest == 128 * 1024)
    }

    @Test(arguments: [0, 3, 200_000] as [UInt64])
    func aFileThatShrankFails(_ shrunkTo: UInt64) async throws {
        let file = try TemporaryFile("0123456789", lengthBytes: 300_000)
        let body = try RequestBody.file(atPath: file.path)
        try file.truncate(to: shrunkTo)
        let error = await #expect(throws: FileReadError.self) { try await chunks(of: body.open()) }
        #expect(error?.description == "cannot read '\(file.path)': the file has become shorter since the request was made")
    }

    @Test func aFileThatGrewIsSentUpToItsDeclaredLength() async throws {
        let file = try TemporaryFile("0123456789")
        let body = try RequestBody.file(atPath: file.path)
        try file.truncate(to: 20)
        #expect(try await chunks(of: body.open()) == ["0123456789"])
    }

    /// A thread that has just read the file may keep the file open for a moment.
    @Test func theDescriptorIsClosedAfterTheEndAndAfterAbandonment() async throws {
        let file = try TemporaryFile("0123456789", lengthBytes: 300_000)
        try #require(file.openDescriptors != nil, "no /proc here")
        let body = try RequestBody.file(atPath: file.path)
        try await poll("0 open descriptors", value: { file.openDescriptors }) { $0 == 0 }
        let (abandoned, read) = (try await body.open(), try await body.open())
        _ = try await abandoned.next()
        #expect(file.openDescriptors == 2)
        abandoned.abandon()
        abandoned.abandon()
        try await poll("1 open descriptors", value: { file.openDescriptors }) { $0 == 1 }
        #expect(try await abandoned.next() == nil)
        while try await read.next() != nil {}
        try await poll("0 open descriptors", value: { file.openDescriptors }) { $0 == 0 }
        var forgotten: (any BodySource)? = try await body.open()
        _ = try await forgotten?.next()
        forgotten = nil
        try await poll("0 open descriptors", value: { file.openDescriptors }) { $0 == 0 }
    }

    @Test func readingAFileSeesCancellation() async throws {
        let file = try TemporaryFile("0123456789")
        let source = try await RequestBody.file(atPath: file.path).open()
        let task = Task {
            withUnsafeCurrentTask { $0?.cancel() }
            return try await source.next()
        }
        await #expect(throws: CancellationError.self) { try await task.value }
    }

    @Test func aOneShotStreamIsReadOnce() async throws {
        let stream = AsyncThrowingStream<Data, any Error> { continuation in
            for text in ["a", "", "b"] { continuation.yield(Data(text.utf8)) }
            continuation.finish()
        }
        let body = RequestBody.stream(stream)
        let copy = body
        #expect(try await chunks(of: body.open()) == ["a", "b"])
        await #expect(throws: BodyAlreadyUsedError.self) { try await body.open() }
        await #expect(throws: BodyAlreadyUsedError()) { try await copy.open() }
    }

    @Test func aStreamsOwnFailureSurfaces() async throws {
        let body = RequestBody.stream(AsyncThrowingStream<Data, any Error> { $0.finish(throwing: TestError("x")) })
        let source = try await body.open()
        await #expect(throws: TestError("x")) { try await source.next() }
    }

    @Test func aRestartableStreamOpensAtItsOffset() async throws {
        let offsets = RecordingList<Int64>()
        let body = RequestBody.stream(length: 6, replay: .seekable) { offset in
            offsets.record(offset)
            return ScriptedBodySource([String("abcdef".dropFirst(Int(offset)))])
        }
        #expect(try await chunks(of: body.open()) == ["abcdef"])
        #expect(try await chunks(of: body.open(from: 4)) == ["ef"])
        #expect(try await chunks(of: body.open()) == ["abcdef"])
        #expect(offsets.all == [0, 4, 0])
        let failing = RequestBody.stream { _ in throw TestError() }
        await #expect(throws: TestError.self) { try await failing.open() }
    }
}

extension RequestBodyTests {
    @Test(arguments: [Int64(-1), .min, nil])
    func aLengthThatIsNotKnownIsNil(_ length: Int64?) {
        let chunks = AsyncStream<Data> { $0.finish() }
        #expect(RequestBody.stream(chunks, length: length).length == nil)
        #expect(RequestBody.stream(length: length) { _ in ScriptedBodySource() }.length == nil)
        #expect(!RequestBody.stream(chunks, length: length).isEmpty && RequestBody.stream(chunks, length: 0).isEmpty)
    }
}
