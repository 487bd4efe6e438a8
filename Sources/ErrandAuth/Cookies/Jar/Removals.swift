#if Auth
internal import ErrandCore
internal import ErrandFormats

/// The removals of all cookies, and of all cookies of a site.
///
/// **Bound:** the removals of ``siteLimit`` sites are kept exactly. If there are more sites, the earliest removal of a site counts as a
/// removal of all cookies. Therefore no removal is forgotten. Cookies that were created after that removal are not affected.
struct Removals: Sendable {
    /// The last removal of some cookies.
    struct Removal: Sendable, Equatable {
        /// The value of the use counter: a response to an earlier request must not store the removed cookies again.
        var use: UInt64
        /// The date of the removal: the removal includes the store's cookies that were created at or before this date.
        var date: HTTPDate

        /// Returns the later removal. A wrong clock may have caused the later date of an earlier removal.
        func or(_ other: Removal?) -> Removal {
            other.map { Removal(use: max(use, $0.use), date: max(date, $0.date)) } ?? self
        }
    }

    /// The largest number of sites.
    static let siteLimit = 1_000

    private var ofAll: Removal?
    /// The table itself has no limit: ``record(_:ofSite:)`` removes the excess, because that function needs the removal of each dropped
    /// site.
    private var ofSites = BoundedTable<String, Removal>(limit: .max)

    /// Records a removal of all cookies of a site, or of all cookies if `site` is nil.
    mutating func record(_ removal: Removal, ofSite site: String?) {
        guard let site else {
            ofAll = removal.or(ofAll)
            return
        }
        ofSites.update(site, default: removal) { $0 = removal.or($0) }
        while ofSites.count > Self.siteLimit, let (_, earliest) = ofSites.removeLeastRecentlyUsed() {
            record(earliest, ofSite: nil)
        }
    }

    /// Returns the last removal that covers the cookies of a site; `nil` if there is no such removal.
    func last(ofSite site: @autoclosure () -> String) -> Removal? {
        guard !ofSites.isEmpty, let ofSite = ofSites[site()] else { return ofAll }
        return ofSite.or(ofAll)
    }

    /// Forgets the removals that the store now has. Later removals stay.
    mutating func forget(_ stored: Removals) {
        if ofAll == stored.ofAll { ofAll = nil }
        for entry in stored.ofSites.entries where ofSites[entry.key] == entry.value { ofSites.removeValue(forKey: entry.key) }
    }
}
#endif
