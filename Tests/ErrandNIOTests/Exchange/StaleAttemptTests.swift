#if SWIFT_NIO
import ErrandCore
import Testing

@testable import ErrandNIO

/// An exchange begins again on the connection that it was on. Late results of the first attempt must not change the second attempt, in any
/// state of the second attempt.
@Suite(.timeLimit(.minutes(5))) struct StaleAttemptTests {
    /// How far the second attempt has come.
    enum Progress: CaseIterable, Sendable {
        case begun, awaitsContinue, uploads, hasWritten, hasSent, hasInterim, hasHead, hasResponse, isOver

        /// Whether pieces of the body are taken.
        var uploads: Bool { [.awaitsContinue, .uploads, .hasInterim, .hasHead, .hasResponse].contains(self) }
        var isInProgress: Bool { self != .isOver }
    }

    @Test(arguments: Progress.allCases, AttemptCallback.allCases)
    func aStaleCallbackOverHTTP2ChangesNothing(progress: Progress, callback: AttemptCallback) throws {
        var machine = HTTP2Machine()
        let first = try require(machine.startStream())
        machine.writeHead(first, .present)
        expect(machine.takes(.piece, of: AttemptID(first)))
        #expect(machine.meaning(ofReset: .refusedStream, on: first) == .unprocessed)
        _ = machine.end(first)
        let second = try require(machine.startStream())
        if progress != .begun { machine.writeHead(second, progress == .awaitsContinue ? .afterContinue : .present) }
        switch progress {
        case .begun, .awaitsContinue, .uploads: break
        case .hasWritten: machine.finishUpload(second)
        case .hasSent:
            machine.finishUpload(second)
            machine.leave(second, ends: true)
        case .hasInterim: try machine.receiveInterim(second, status: 103, ends: false, limit: 32)
        case .hasHead: expect(!machine.receiveHead(second, status: 200, length: nil))
        case .hasResponse:
            expect(!machine.receiveHead(second, status: 200, length: nil))
            #expect(try machine.receiveEnd(second) == .uploadContinues)
        case .isOver: _ = machine.end(second)
        }
        #expect(!machine.takes(callback, of: AttemptID(first)))
        #expect(!machine.takes(callback, of: AttemptID(second + 2)))
        let isTaken = callback.isOfUpload ? progress.uploads : progress.isInProgress
        #expect(machine.takes(callback, of: AttemptID(second)) == isTaken)
    }

    /// A proxy that reads the requests has responded to the first request with a challenge (407).
    @Test(arguments: Progress.allCases, AttemptCallback.allCases)
    func aStaleCallbackOverHTTP1ChangesNothing(progress: Progress, callback: AttemptCallback) throws {
        var machine = HTTP1Machine()
        expect(machine.startAttempt())
        let first = try require(machine.attempt)
        machine.writeHead(.present, closes: false)
        expect(machine.takes(.piece, of: first))
        _ = machine.finishUpload()
        expect(machine.receiveBytes())
        _ = machine.receiveHead(status: 407, isPersistent: true)
        expect(machine.receiveEnd(hasMore: false) == .reuse)
        #expect(!machine.takes(callback, of: first))
        expect(machine.startAttempt())
        let second = try require(machine.attempt)
        if progress != .begun { machine.writeHead(progress == .awaitsContinue ? .afterContinue : .present, closes: false) }
        switch progress {
        case .begun, .awaitsContinue, .uploads: break
        case .hasWritten, .hasSent: _ = machine.finishUpload()
        case .hasInterim: expect(machine.receiveBytes())
        case .hasHead, .hasResponse:
            expect(machine.receiveBytes())
            _ = machine.receiveHead(status: 200, isPersistent: true)
            if progress == .hasResponse { expect(machine.receiveEnd(hasMore: false) == .uploadContinues) }
        case .isOver: _ = machine.close()
        }
        #expect(!machine.takes(callback, of: first))
        #expect(!machine.takes(callback, of: AttemptID(second.number + 1)))
        let isTaken = callback.isOfUpload ? progress.uploads : progress.isInProgress
        #expect(machine.takes(callback, of: second) == isTaken)
    }
}
#endif
