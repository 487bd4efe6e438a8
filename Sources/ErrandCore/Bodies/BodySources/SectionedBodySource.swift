internal import Synchronization

/// One of several consecutive parts of a body.
struct BodySection: Sendable {
    let body: RequestBody
    /// The path of the file if the body is a whole file; otherwise `nil`. The length of the file must not change while the file is sent.
    let wholeFile: String?
}

extension RequestBody {
    /// Returns a body of the given sections, one after the other.
    ///
    /// The length is the sum of the lengths of all sections. The body can be sent again if all sections can be sent again. The
    /// body can be sent from any byte if all sections can be sent from any byte and have a known length.
    static func sections(_ sections: [BodySection]) -> RequestBody {
        let lengths = sections.map(\.body.length)
        let length = lengths.reduce(Int64(0) as Int64?) { sum, next in
            guard let sum, let next else { return nil }
            let (total, isTooLarge) = sum.addingReportingOverflow(next)
            return isTooLarge ? nil : total
        }
        let buffered = sections.compactMap(\.body.bufferedData)
        if buffered.count == sections.count, let length, length <= ResponseBody.transformedInMemoryLimitBytes {
            var data = Data(capacity: Int(length))
            for bytes in buffered { data.append(bytes) }
            return .data(data)
        }
        let replays = sections.map(\.body.replay)
        let replay: Replay =
            !replays.allSatisfy(\.canRestart) ? .oneShot : length != nil && replays.allSatisfy(\.canSeek) ? .seekable : .restartable
        return .stream(length: length, replay: replay) { offset in SectionedBodySource(sections, from: offset) }
    }
}

/// A source that reads several bodies one after the other. Each body is opened when the previous body has ended.
private final class SectionedBodySource: BodySource {
    private struct State {
        var rest: ArraySlice<BodySection>
        /// The number of bytes to skip at the beginning of the next section.
        var offset: Int64
        var current: (source: any BodySource, section: BodySection)?
        var isAbandoned = false
    }

    private let state: Mutex<State>

    init(_ sections: [BodySection], from offset: Int64) {
        var (rest, offset) = (sections[...], offset)
        while offset > 0, let length = rest.first?.body.length, offset >= length {
            offset -= length
            rest.removeFirst()
        }
        state = Mutex(State(rest: rest, offset: offset))
    }

    func next() async throws -> Data? {
        while true {
            let (current, isAbandoned) = state.withLock { ($0.current, $0.isAbandoned) }
            if isAbandoned { return nil }
            guard let current else {
                guard try await openNext() else { return nil }
                continue
            }
            if let chunk = try await current.source.next() { return chunk }
            // A sequence also ends when its reader is cancelled. After a cancellation, the next section must not follow.
            try Task.checkCancellation()
            if let path = current.section.wholeFile { try await checkLength(of: current.section.body, path: path) }
            state.withLock { $0.current = nil }
        }
    }

    /// Opens the next section. Returns false if there are no more sections.
    private func openNext() async throws -> Bool {
        let next = state.withLock { state in
            defer { state.offset = 0 }
            return state.rest.popFirst().map { ($0, state.offset) }
        }
        guard let (section, offset) = next else { return false }
        let source: any BodySource
        if let data = section.body.bufferedData {
            source = DataBodySource(data.dropFirst(Int(offset)), chunkLimitBytes: BodyPipeline.chunkLimitBytes)
        } else {
            source = try await section.body.openChecked(from: offset)
        }
        let isAbandoned = state.withLock { state in
            if !state.isAbandoned { state.current = (source, section) }
            return state.isAbandoned
        }
        if isAbandoned { source.abandon() }
        return true
    }

    /// Checks that the length of the file has not changed since the request was made. If the file has grown, its new bytes were not
    /// sent.
    ///
    /// - Throws: ``FileReadError`` if the length has changed or can't be read; `CancellationError`.
    private func checkLength(of body: RequestBody, path: String) async throws {
        let length = try await BlockingWork.runUntilCancelled { try ReadOnlyFile.lengthBytes(path: path) }
        guard length == body.length else {
            throw FileReadError.changed(path, reason: "the length of the file has changed since the request was made")
        }
    }

    func abandon() { end()?.abandon() }

    func fail(with error: any Error) { end()?.fail(with: error) }

    private func end() -> (any BodySource)? {
        state.withLock { state in
            (state.isAbandoned, state.rest) = (true, [])
            return state.current.take()?.source
        }
    }
}
