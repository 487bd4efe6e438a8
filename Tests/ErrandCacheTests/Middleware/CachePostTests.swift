import ErrandCore
import ErrandTesting
import HTTPTypes
import Testing

import class TestSupport.ScriptedBodySource
import func TestSupport.eventually

@testable import ErrandCache

/// Responses to POST that have the new content of the URL ([RFC 9110, section
/// 9.3.3](https://www.rfc-editor.org/rfc/rfc9110#section-9.3.3)).
@Suite(.timeLimit(.minutes(5))) struct CachePostTests {
    @Test(arguments: StoreKind.allCases, [true, false]) func theNewContentIsStored(_ kind: StoreKind, isOfTheURL: Bool) async throws {
        let place = isOfTheURL ? sampleURL : sampleURL + "/7"
        let cache = CachedOrigin(in: kind.store) { request, number in
            reply(to: request, ["Cache-Control: max-age=60", "Content-Location: \(place)"], source: ScriptedBodySource(["\(number)"]))
        }
        var post = request(method: .post)
        post.body = .text("new")
        #expect(try await cache.get(post).0 == "1")
        await eventually { cache.isIdle }
        let (text, status) = try await cache.get(request())
        #expect(text == (isOfTheURL ? "1" : "2") && status?.isHit == isOfTheURL)
    }
}
