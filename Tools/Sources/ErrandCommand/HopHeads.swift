import Errand
import Synchronization

/// Remembers the heads of the responses of a call. Like curl, `-L` with `-i`, `-I` or `-D` shows the head of each redirect too.
final class HopHeads: Sendable {
    struct Head: Sendable {
        let head: HTTPResponse
        let httpVersion: HTTPVersion?
    }

    /// The place is inside `redirect`.
    struct Watch: HTTPMiddleware {
        let heads: HopHeads

        func send(_ request: Request, to next: some HTTPSender) async throws -> Response {
            let response = try await next.send(request)
            heads.heads.withLock { $0.append(Head(head: response.head, httpVersion: response.metadata.httpVersion)) }
            return response
        }
    }

    private let heads = Mutex<[Head]>([])

    /// The heads of the redirects that have led to a response. The heads of earlier attempts are left out.
    func redirects(before response: Response) -> [Head] {
        let count = response.metadata.redirects.count { !$0.isInternal }
        return heads.withLock { Array($0.dropLast().suffix(count)) }
    }
}
