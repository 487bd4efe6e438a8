internal import ErrandCore

/// Decides which bytes of a stored response a request gets ([RFC 9110, section 14](https://www.rfc-editor.org/rfc/rfc9110#section-14)), and
/// which parts are combined ([RFC 9111, section 3.4](https://www.rfc-editor.org/rfc/rfc9111#section-3.4)).
enum RangeRule {
    /// The bytes of a stored response that a request gets.
    enum Service: Sendable, Hashable {
        /// The whole response.
        case whole
        /// A 206 with the bytes at these positions of the representation.
        case part(Range<Int64>)
    }

    /// Returns the bytes that a request gets from an entry; `nil` if the entry does not have these bytes.
    static func service(of head: CacheEntry.Head, for request: CacheRequest) -> Service? {
        switch request.wanted {
        case .other: return nil
        case .whole: return head.extent.isWhole ? .whole : nil
        case .range(let range):
            // A range applies only to a successful response (RFC 9110, section 14.2).
            guard head.response.status == .ok, appliesRange(to: head, request.fields) else { return head.extent.isWhole ? .whole : nil }
            guard !head.isDecoded else { return nil }
            return head.extent.positions(of: range).map { .part($0) }
        }
    }

    /// Returns whether `If-Range` is missing, or names the stored response
    /// ([RFC 9110, section 13.1.5](https://www.rfc-editor.org/rfc/rfc9110#section-13.1.5)).
    private static func appliesRange(to head: CacheEntry.Head, _ fields: HTTPFields) -> Bool {
        guard fields.contains(.ifRange) else { return true }
        guard let text = fields[.ifRange] else { return false }
        if let tag = EntityTag(text) { return head.validators.tag?.matches(tag, by: .strong) == true }
        guard head.validators.isModifiedStrong, let modified = head.validators.modifiedText else { return false }
        return text.trimmingOptionalWhitespace().isExactly(modified)
    }

    /// Returns the fields that ask for the missing bytes at the end of a part; `nil` if the part does not begin at the first byte, or no
    /// bytes are missing, or the server could send bytes of another representation.
    ///
    /// - Parameter isFresh: whether the part is fresh. The request for the rest of a fresh part needs no validator. The combination of both
    ///   parts needs a strong validator. If the entry has no strong validator, a 206 is unusable, and the whole response is requested.
    static func completion(of head: CacheEntry.Head, isFresh: Bool) -> [HTTPField]? {
        guard case .part(let range, let completeLength) = head.extent, range.lowerBound == 0, !range.isEmpty, !head.isDecoded,
            range.upperBound < completeLength ?? .max
        else { return nil }
        let field = HTTPField(name: .range, value: "bytes=\(range.upperBound)-")
        if let validator = head.validators.strongText { return [field, HTTPField(name: .ifRange, value: validator)] }
        return isFresh && completeLength != nil ? [field] : nil
    }

    /// Returns whether a 206 has exactly the missing bytes of a part, and belongs to the same representation.
    static func completes(_ head: CacheEntry.Head, _ response: HTTPResponse, responseTime: CacheInstant) -> Bool {
        guard let content = response.contentRange, let range = content.range, range.lowerBound == head.extent.range.upperBound,
            range.upperBound == content.completeLength,
            head.extent.completeLength == nil || head.extent.completeLength == content.completeLength,
            response.hasLength(range.byteCount)
        else { return false }
        return head.validators.areStronglyEqual(ResponseValidators(response.headerFields, receivedAt: responseTime.date))
    }

    /// Returns how a 206 is stored together with a stored part of the same representation; `nil` if there is a gap between the parts.
    static func pieces(of stored: CacheEntry, around new: Range<Int64>) -> (before: CachePiece?, after: CachePiece?)? {
        let old = stored.head.extent.range
        guard old.lowerBound <= new.upperBound, new.lowerBound <= old.upperBound else { return nil }
        let before = old.lowerBound..<min(max(new.lowerBound, old.lowerBound), old.upperBound)
        let after = max(min(new.upperBound, old.upperBound), old.lowerBound)..<old.upperBound
        return (piece(stored, before), piece(stored, after))
    }

    private static func piece(_ entry: CacheEntry, _ positions: Range<Int64>) -> CachePiece? {
        positions.isEmpty ? nil : CachePiece(entry: entry, offsets: entry.head.extent.offsets(of: positions))
    }

    /// Returns the fields of a 206 with these positions of the representation.
    static func fields(of fields: HTTPFields, part: Range<Int64>, completeLength: Int64?) -> HTTPFields {
        var fields = fields
        fields[.contentRange] = ContentRange(part, completeLength: completeLength)?.description
        fields[.contentLength] = String(part.byteCount)
        return fields
    }
}
