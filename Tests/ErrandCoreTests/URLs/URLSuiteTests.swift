import Errand
import TestSupport
import Testing

/// The public vectors for URLs; small cases of our own stand beside each type's tests.
@Suite(.timeLimit(.minutes(5)), .enabled(if: Suites.folder != nil, Comment(rawValue: Suites.missing)))
struct URLSuiteTests {
    private struct Vectors: Decodable {
        struct Join: Decodable { let base, path, why: String; let expect: String? }
        struct Segment: Decodable { let segment, why: String; let expect: String? }
        struct Pairs: Decodable { let pairs: [[String?]]; let why: String; let expect: String? }
        struct Resolve: Decodable { let base, reference, why: String; let expect: String? }
        struct Host: Decodable { let host, why: String; let expect: String? }

        let join: [Join]
        let segments: [Segment]
        let queries: [Pairs]
        let resolve: [Resolve]
        let hosts: [Host]
    }

    private let vectors: Vectors

    init() throws { vectors = try Suites.load("urls.json", as: Vectors.self) }

    @Test func everyBaseAndPathJoins() {
        #expect(!vectors.join.isEmpty)
        for test in vectors.join {
            #expect(
                (try? HTTPURL(test.base).joined(with: test.path).description) == test.expect, "\(test.base) + \(test.path): \(test.why)")
        }
    }

    @Test func everySegmentIsEscapedOrRefused() {
        #expect(!vectors.segments.isEmpty)
        for test in vectors.segments {
            let target = try? PathTemplate("/\(test.segment)").resolved().target
            #expect(target == test.expect.map { "/" + $0 }, "\(test.segment.debugDescription): \(test.why)")
        }
    }

    @Test func everyQueryIsEncoded() {
        #expect(!vectors.queries.isEmpty)
        for test in vectors.queries {
            let query = URLQuery(test.pairs.map { URLQuery.Item(name: $0[0] ?? "", value: $0[1]) })
            #expect(query.encoded == test.expect, "\(test.pairs): \(test.why)")
        }
    }

    @Test func everyReferenceResolves() {
        #expect(!vectors.resolve.isEmpty)
        for test in vectors.resolve {
            let resolved = try? URLReference(test.reference).resolved(against: URLReference(test.base)).description
            #expect(resolved == test.expect, "\(test.reference) against \(test.base): \(test.why)")
        }
    }

    @Test func everyHostIsNormalizedOrRefused() {
        #expect(!vectors.hosts.isEmpty)
        for test in vectors.hosts {
            // If only a part of the host was read as the host, the rest became the path.
            let url = try? HTTPURL("https://\(test.host)/")
            #expect((url?.path == "/" ? url?.host : nil) == test.expect, "\(test.host.debugDescription): \(test.why)")
        }
    }
}
