import ErrandCore
import ErrandTesting
import Foundation
import HTTPTypes
import Testing

import class TestSupport.ScriptedBodySource
import class TestSupport.Watched
import func TestSupport.eventually

@testable import ErrandCache

/// The behaviors of `Tests/Servers/cache_behaviors.json`, which `scripts/cache-peers` also plays over nginx, Varnish and squid.
@Suite(.timeLimit(.minutes(5))) struct CacheBehaviorTests {
    struct Behavior: Decodable, Sendable, CustomTestStringConvertible {
        struct Reply: Decodable, Sendable {
            let status: Int?
            let fields: [String: String]
            /// The seconds after which the origin responds.
            let delay: Double?
        }

        struct Step: Decodable, Sendable {
            /// The seconds since the end of the last step.
            let after: Double?
            let fields: [String: String]
            let body: String
            /// The number of requests that the origin has seen after the step.
            let requests: Int
            /// The fields of the last request that the origin has seen.
            let sent: [String: String]?
        }

        let id: String
        let replies: [Reply]
        let steps: [Step]

        var testDescription: String { id }
    }

    private static let behaviors: [Behavior] = {
        let path = URL(filePath: #filePath).deletingLastPathComponent().appending(path: "../../Servers/cache_behaviors.json")
        do {
            return try JSONDecoder().decode([Behavior].self, from: Data(contentsOf: path))
        } catch {
            preconditionFailure("\(path.path) must be readable (\(error))")
        }
    }()

    @Test(arguments: behaviors, StoreKind.allCases) func theCacheDoesWhatOtherCachesDo(_ behavior: Behavior, _ kind: StoreKind) async throws
    {
        let finishedSteps = Watched(0)
        let cache = CachedOrigin(in: kind.store) { request, number in
            let reply = behavior.replies[min(number, behavior.replies.count) - 1]
            let status = reply.status ?? 200
            if reply.delay != nil {
                // A slow response arrives after the step. A step that waits for the response fails.
                let finished = finishedSteps.value
                try await finishedSteps.wait("the end of the step", upTo: .seconds(10)) { $0 > finished }
            }
            let body = status == 304 ? [] : ["\(number)"]
            return ErrandCacheTests.reply(
                to: request, Self.lines(reply.fields), status: status, source: ScriptedBodySource(body))
        }
        for (number, step) in behavior.steps.enumerated() {
            cache.time.advance(by: .seconds(step.after ?? 0))
            var next = request()
            next.headers = fields(Self.lines(step.fields))
            let (body, _) = try await cache.get(next)
            await eventually { cache.origin.count >= step.requests }
            finishedSteps.change { $0 += 1 }
            await eventually { cache.isIdle }
            #expect(body == step.body && cache.origin.count == step.requests, "step \(number + 1)")
            for field in fields(Self.lines(step.sent ?? [:])) {
                #expect(cache.origin.sent.last?.headers[values: field.name] == [field.value], "step \(number + 1)")
            }
        }
    }

    private static func lines(_ fields: [String: String]) -> [String] { fields.map { "\($0.key): \($0.value)" } }
}
