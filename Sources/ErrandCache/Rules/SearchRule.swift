internal import ErrandCore

/// Decides which keys a response with `No-Vary-Search` has
/// ([draft-ietf-httpbis-no-vary-search](https://datatracker.ietf.org/doc/draft-ietf-httpbis-no-vary-search/), section 7).
///
/// If the field has an effect, the key has the URL without its query, and the significant parameters in ``CacheKey/search``. Two URLs are
/// equivalent if, and only if, these keys are equal.
///
/// A cache must know the field before it can form this key. Therefore, if the field of a stored response has an effect, the store also
/// has a pointer. A pointer is an entry without a body. The key of the pointer has the URL without its query, and the head has the latest
/// such field. The draft allows a cache to know only the latest field.
enum SearchRule {
    /// An entry without a body, whose head has the latest field of a URL without its query.
    struct Pointer: Sendable {
        let key: CacheKey
        let head: CacheEntry.Head
        let generation: CacheGeneration
    }

    /// The value of ``CacheKey/search`` in the key of a pointer.
    static let pointer = ""

    /// Returns the key of the pointer for a key of a request.
    static func pointerKey(for key: CacheKey) -> CacheKey {
        key.replacing(url: urlWithoutQuery(key.url), content: nil, search: pointer)
    }

    /// Returns the pointer that a new response needs; `nil` if its key has the whole query, or if the store has the pointer.
    ///
    /// - Parameters:
    ///   - key: the key of the response.
    ///   - lookup: the look-up before the request.
    static func pointer(to head: CacheEntry.Head, of key: CacheKey, after lookup: CacheLookup) -> Pointer? {
        guard key.search != nil, lookup.noVarySearch != head.noVarySearch else { return nil }
        var response = HTTPResponse(status: .noContent)
        for field in head.response.headerFields where field.name == .noVarySearch { response.headerFields.append(field) }
        let pointer = CacheEntry.Head(
            response: response, requestTime: head.requestTime, responseTime: head.responseTime, extent: .whole(length: 0))
        return Pointer(key: pointerKey(for: key), head: pointer, generation: lookup.generation)
    }

    /// Returns the key of a response with `field`.
    ///
    /// - Parameter key: the key of the request.
    /// - Returns: `nil` if the field has no effect, so that the key of the request is the key of the response.
    static func key(for key: CacheKey, by field: NoVarySearch) -> CacheKey? {
        guard let search = field.normalForm(of: query(key.url)) else { return nil }
        return key.replacing(url: urlWithoutQuery(key.url), content: key.content, search: search)
    }

    /// Returns the URLs, and the same URLs without their queries. The keys of responses with `No-Vary-Search` have no queries.
    static func withoutQueries(_ urls: [String]) -> [String] {
        var all = urls
        for url in urls.map(urlWithoutQuery) where !all.contains(where: { $0.isExactly(url) }) { all.append(url) }
        return all
    }

    private static func urlWithoutQuery(_ url: String) -> String { String(url[..<end(ofPath: url)]) }

    private static func query(_ url: String) -> Substring? {
        let end = end(ofPath: url)
        return end == url.endIndex ? nil : url[url.utf8.index(after: end)...]
    }

    private static func end(ofPath url: String) -> String.Index { url.utf8.firstIndex(of: UInt8(ascii: "?")) ?? url.endIndex }
}

extension CacheEntry.Head {
    /// The field `No-Vary-Search` of the response.
    var noVarySearch: NoVarySearch { NoVarySearch(response.headerFields) }
}

extension CacheRequest {
    /// Returns the entries of a request: the entries of its key, and the entries that `No-Vary-Search` makes equivalent.
    ///
    /// - Parameter lookUp: returns the entries of one key; `nil` if the store can't be asked.
    func lookUp(by policy: CachePolicy, _ lookUp: (CacheKey) async throws -> CacheLookup?) async throws -> CacheLookup? {
        guard let key, let found = try await lookUp(key) else { return nil }
        guard policy.usesNoVarySearch, isServable, let pointers = try await lookUp(SearchRule.pointerKey(for: key)),
            let field = pointers.entries.first?.head.noVarySearch, let searchKey = SearchRule.key(for: key, by: field)
        else { return found }
        let equivalent = try await lookUp(searchKey)?.entries.filter { $0.head.noVarySearch == field } ?? []
        return CacheLookup(entries: found.entries + equivalent, generation: found.generation, noVarySearch: field)
    }

    /// Returns the key of an entry, or of a response to be stored; `nil` if the request has no key.
    func key(of head: CacheEntry.Head, by policy: CachePolicy) -> CacheKey? {
        guard let key, policy.usesNoVarySearch, isServable else { return key }
        return SearchRule.key(for: key, by: head.noVarySearch) ?? key
    }
}

extension HTTPField.Name {
    fileprivate static let noVarySearch = known("No-Vary-Search")
}
