import Errand
import Testing

@Suite struct CacheStatusTests {
    /// Each row: a status, its parameters as in RFC 9211, and whether it is a hit, stale, revalidated and a miss.
    @Test(
        arguments: [
            (CacheStatus(.hit), "hit", "h"),
            (CacheStatus(.hit, timeToLive: .seconds(30)), "hit; ttl=30", "h"),
            (CacheStatus(.hit, timeToLive: .seconds(-412)), "hit; ttl=-412", "hs"),
            // Fresh means that the lifetime exceeds the age. The number is rounded away from zero.
            (CacheStatus(.hit, timeToLive: .zero), "hit; ttl=0", "hs"),
            (CacheStatus(.hit, timeToLive: .milliseconds(400)), "hit; ttl=1", "h"),
            (CacheStatus(.hit, timeToLive: .milliseconds(-400)), "hit; ttl=-1", "hs"),
            (CacheStatus(.hit, timeToLive: .milliseconds(59_001)), "hit; ttl=60", "h"),
            (CacheStatus(.forwarded(.uriMiss)), "fwd=uri-miss", "m"),
            (CacheStatus(.forwarded(.varyMiss), isStored: true), "fwd=vary-miss; stored", "m"),
            (CacheStatus(.forwarded(.stale), forwardedStatus: .notModified, isRevalidated: true), "fwd=stale; fwd-status=304", "r"),
            // A 304 to the caller's own condition.
            (CacheStatus(.forwarded(.stale), forwardedStatus: .notModified), "fwd=stale; fwd-status=304", "m"),
            // Another variant.
            (CacheStatus(.forwarded(.varyMiss), forwardedStatus: .notModified, isReselected: true), "fwd=vary-miss; fwd-status=304", ""),
            (
                CacheStatus(.forwarded(.stale), forwardedStatus: .ok, isStored: true, timeToLive: .seconds(5)),
                "fwd=stale; fwd-status=200; ttl=5; stored", "m"
            ),
            (CacheStatus(.forwarded(.bypass)), "fwd=bypass", "m"),
            (CacheStatus(.forwarded(.miss), isCollapsed: true), "fwd=miss; collapsed", "m"),
            (
                CacheStatus(.forwarded(.uriMiss), forwardedStatus: .ok, refusal: .noStore),
                "fwd=uri-miss; fwd-status=200; detail=no-store", "m"
            ),
            // A stored response has no reason, and a parameter occurs at most once.
            (CacheStatus(.forwarded(.uriMiss), isStored: true, refusal: .noStore), "fwd=uri-miss; stored", "m"),
            (CacheStatus(.forwarded(.stale), isFallback: true, refusal: .noStore), "fwd=stale; detail=stale-if-error", ""),
            (CacheStatus(.unavailable(.uriMiss)), "detail=only-if-cached/uri-miss", "mu"),
            (CacheStatus(.unavailable(.stale), refusal: .noStore), "detail=only-if-cached/stale", "mu"),
        ] as [(CacheStatus, String, String)])
    func aCacheStatusDescribesTheCache(_ status: CacheStatus, _ text: String, _ kinds: String) {
        #expect(status.description == text)
        let found = [
            ("h", status.isHit), ("s", status.isStale), ("r", status.isRevalidated), ("m", status.isMiss),
            ("u", status.isUnavailable),
        ]
        #expect(found.filter(\.1).map(\.0).joined() == kinds)
    }

    @Test func theReasonsAreTheWordsOfTheField() {
        #expect(
            CacheStatus.ForwardReason.allCases.map(\.rawValue)
                == ["bypass", "method", "uri-miss", "vary-miss", "miss", "request", "stale", "partial"])
    }

    @Test func theReasonsForNotStoringAreTokensAndSentences() {
        let reasons = CacheStatus.Refusal.allCases
        #expect(Set(reasons.map(\.rawValue)).count == reasons.count && Set(reasons.map(\.description)).count == reasons.count)
        for reason in reasons {
            #expect(reason.rawValue.utf8.allSatisfy { (97...122).contains($0) || $0 == 45 }, "\(reason.rawValue)")
            #expect(!reason.description.isEmpty && !reason.description.hasSuffix("."))
        }
    }

    @Test func aStoredResponseHasNoReason() {
        var status = CacheStatus(.forwarded(.uriMiss), isStored: true, refusal: .noStore)
        #expect(status.isStored && status.refusal == nil)
        status.refusal = nil
        #expect(status.isStored)
        status.refusal = .noRoom
        #expect(!status.isStored && status.refusal == .noRoom && status.description == "fwd=uri-miss; detail=no-room")
        status.isStored = false
        #expect(status.refusal == .noRoom)
        status.isStored = true
        #expect(status.isStored && status.refusal == nil && status.description == "fwd=uri-miss; stored")
        status.isStored = false
        #expect(!status.isStored && status == CacheStatus(.forwarded(.uriMiss)))
        status.refusal = .removed
        status.refusal = nil
        #expect(status == CacheStatus(.forwarded(.uriMiss)))
    }

    @Test func aResponseHasNoStatusUntilACacheSetsOne() {
        var metadata = ResponseMetadata()
        #expect(metadata.cacheStatus == nil)
        metadata.cacheStatus = CacheStatus(.hit)
        #expect(metadata.cacheStatus?.isHit == true)
    }
}
