internal import ErrandCore

/// Decides with which validators a request asks the server to confirm stored responses ([RFC 9111, section
/// 4.3.1](https://www.rfc-editor.org/rfc/rfc9111#section-4.3.1)). Also decides which stored responses a 304 confirms ([RFC 9111, section
/// 4.3.4](https://www.rfc-editor.org/rfc/rfc9111#section-4.3.4)).
enum ValidationRule {
    /// The conditions for a request, and the entries that the conditions name.
    struct Conditions: Sendable {
        var fields: [HTTPField] = []
        var candidates: [CacheEntry] = []
    }

    /// Returns the conditions that name the validators of the entries. At most 16 entity tags with at most ``CacheLimits/validatorBytes``
    /// are named. The tag of `selected` is named first, and then the tags of the most recent other entries.
    ///
    /// - Parameters:
    ///   - selected: the entry that belongs to the request; `nil` if there is no such entry. If the entry has a date of modification, the
    ///     date is sent in `If-Modified-Since`.
    ///   - others: the other entries of the key. The entity tags of these entries are also sent, because the server may select one of these
    ///     entries.
    static func conditions(selected: CacheEntry?, others: [CacheEntry]) -> Conditions {
        var conditions = Conditions()
        var (tags, bytes): ([EntityTag], Int) = ([], 0)
        let others = others.count < 2 ? others : others.sorted { $0.head.responseTime.sinceEpoch > $1.head.responseTime.sinceEpoch }
        for entry in (selected.map { [$0] } ?? []) + others where tags.count < CacheLimits.variants {
            guard let tag = entry.head.validators.tag else { continue }
            if !tags.contains(tag) {
                let length = tag.description.utf8.count + 2
                guard bytes + length <= CacheLimits.validatorBytes else { continue }
                tags.append(tag)
                bytes += length
            }
            conditions.candidates.append(entry)
        }
        if !tags.isEmpty {
            conditions.fields.append(HTTPField(name: .ifNoneMatch, value: EntityTagCondition.tags(tags).description))
        }
        if let selected, let modified = selected.head.validators.modifiedText {
            conditions.fields.append(HTTPField(name: .ifModifiedSince, value: modified))
            if conditions.candidates.first?.id != selected.id { conditions.candidates.insert(selected, at: 0) }
        }
        return conditions
    }

    /// Returns the entries that a 304 confirms; empty if the 304 confirms no entry. A 304 that confirms no entry is unusable.
    ///
    /// - Parameters:
    ///   - fields: the fields of the 304.
    ///   - candidates: the entries whose validators the request named, the entry of the request first.
    ///   - responseTime: the instant at which the 304 arrived.
    static func confirmed(by fields: HTTPFields, among candidates: [CacheEntry], responseTime: CacheInstant) -> [CacheEntry] {
        let new = ResponseValidators(fields, receivedAt: responseTime.date)
        if let tag = new.tag {
            if !tag.isWeak { return confirmed(by: tag, candidates) }
            return mostRecent(candidates.filter { $0.head.validators.tag?.matches(tag, by: .weak) == true }).map { [$0] } ?? []
        }
        // Many servers omit the entity tag of a 304. If the request named one entry, the 304 can only confirm this entry.
        let first = candidates.first?.head.validators.tag
        if let modified = new.modified, candidates.count > 1 {
            return mostRecent(candidates.filter { $0.head.validators.modified == modified }).map { [$0] } ?? []
        }
        return candidates.allSatisfy { $0.head.validators.tag == first } && (first != nil || candidates.count == 1) ? candidates : []
    }

    /// Returns the entries with a strong tag. If there is no such entry, returns the most recent entry with the same tag in its weak form.
    /// A cache between the app and the server may have made the tag strong.
    private static func confirmed(by tag: EntityTag, _ candidates: [CacheEntry]) -> [CacheEntry] {
        let strong = candidates.filter { $0.head.validators.tag?.matches(tag, by: .strong) == true }
        if !strong.isEmpty { return strong }
        return mostRecent(candidates.filter { $0.head.validators.tag?.matches(tag, by: .weak) == true }).map { [$0] } ?? []
    }

    private static func mostRecent(_ entries: [CacheEntry]) -> CacheEntry? {
        entries.max { $0.head.responseTime.sinceEpoch < $1.head.responseTime.sinceEpoch }
    }
}
