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
        ] as [(CacheStatus, String, String)])
    func aCacheStatusDescribesTheCache(_ status: CacheStatus, _ text: String, _ kinds: String) {
        #expect(status.description == text)
        let found = [("h", status.isHit), ("s", status.isStale), ("r", status.isRevalidated), ("m", status.isMiss)]
        #expect(found.filter(\.1).map(\.0).joined() == kinds)
    }

    @Test func theReasonsAreTheWordsOfTheField() {
        #expect(
            CacheStatus.ForwardReason.allCases.map(\.rawValue)
                == ["bypass", "method", "uri-miss", "vary-miss", "miss", "request", "stale", "partial"])
    }

    @Test func aResponseHasNoStatusUntilACacheSetsOne() {
        var metadata = ResponseMetadata()
        #expect(metadata.cacheStatus == nil)
        metadata.cacheStatus = CacheStatus(.hit)
        #expect(metadata.cacheStatus?.isHit == true)
    }
}
