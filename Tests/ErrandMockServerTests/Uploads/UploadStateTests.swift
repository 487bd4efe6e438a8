#if MockServer && SWIFT_NIO
import ErrandCore
import HTTPTypes
import Testing

@testable import ErrandMockServer

/// The decisions about the content of an upload.
@Suite(.timeLimit(.minutes(5))) struct UploadStateTests {
    /// The connection of an earlier request may deliver content after a later request has begun.
    @Test func contentOfAnEarlierRequestIsNotAdded() {
        var state = UploadState(limits: MockUploads.Limits())
        state.uploads.append(
            MockUploads.Upload(HTTPRequest(method: .post, scheme: nil, authority: nil, path: "/files"), resourcePath: "/files/1"))
        let first = state.setSender(nil, of: 0).number
        let second = state.setSender(nil, of: 0).number
        guard case .ends = state.add(Data("ab".utf8), to: 0, sender: first, received: 0, cut: nil) else {
            Issue.record("the content of the earlier request was added")
            return
        }
        guard case .kept(offset: 2) = state.add(Data("ab".utf8), to: 0, sender: second, received: 0, cut: nil) else {
            Issue.record("the content of the later request was not added")
            return
        }
    }
}
#endif
