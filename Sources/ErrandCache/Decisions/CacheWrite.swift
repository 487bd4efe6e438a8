internal import ErrandCore

/// A response that is stored while its body arrives.
///
/// The stored bytes are ``before``, the received bytes, and ``after``. The function ``finished(receivedBytes:isComplete:)`` returns the
/// final head of the entry. Before that call, the entry must not be visible.
struct CacheWrite: Sendable {
    /// The bytes of the representation that the body announces.
    enum Announced: Sendable, Hashable {
        /// All bytes. `length` is the number of bytes; `nil` if the head declares no length.
        case whole(length: Int64?)
        /// The bytes of a 206.
        case part(Range<Int64>, completeLength: Int64?)
    }

    /// The head, whose extent is not known yet.
    let head: CacheEntry.Head
    /// The bytes that the body announces.
    let announced: Announced
    /// The stored bytes before the received bytes; `nil` if no bytes precede.
    var before: CachePiece?
    /// The stored bytes after the received bytes; `nil` if no bytes follow. These bytes are used only if the whole body arrives.
    var after: CachePiece?
    /// The entries that the new entry replaces.
    var replaces: [CacheEntry.ID] = []

    /// The number of bytes that the entry will have; `nil` if the number is not known.
    var expectedBytes: Int64? {
        let received: Int64? =
            switch announced {
            case .whole(let length): length
            case .part(let range, _): range.byteCount
            }
        return received.map { $0.clampedSum(before?.byteCount ?? 0).clampedSum(after?.byteCount ?? 0) }
    }

    /// Returns the head of the entry after the body has ended; `nil` if nothing may be stored.
    ///
    /// An incomplete body is stored only with a strong validator. With this validator, the cache can request the rest later ([RFC 9111,
    /// section 3.3](https://www.rfc-editor.org/rfc/rfc9111#section-3.3)).
    ///
    /// - Parameters:
    ///   - receivedBytes: the number of received bytes.
    ///   - isComplete: whether the body has ended correctly, by the framing of the transport. False if the body failed, or was abandoned.
    /// - Returns: the head, and whether the bytes of ``after`` follow the received bytes.
    func finished(receivedBytes: Int64, isComplete: Bool) -> (head: CacheEntry.Head, includesAfter: Bool)? {
        switch announced {
        case .whole(let length):
            if receivedBytes == length || isComplete && length == nil { return (head.with(extent: .whole(length: receivedBytes)), false) }
            guard receivedBytes > 0, receivedBytes < length ?? .max, mayBeContinued else { return nil }
            return (head.asPart(0..<receivedBytes, completeLength: length), false)
        case .part(let range, let completeLength):
            let length = range.byteCount
            guard receivedBytes > 0 || before != nil, receivedBytes <= length else { return nil }
            // The bytes of `before` end where the range begins.
            let start = max(0, range.lowerBound - (before?.byteCount ?? 0))
            if receivedBytes == length {
                let end = range.upperBound.clampedSum(after?.byteCount ?? 0)
                return (head.asPart(start..<end, completeLength: completeLength), after != nil)
            }
            let end = range.lowerBound.clampedSum(receivedBytes)
            guard isComplete else { return mayBeContinued ? (head.asPart(start..<end, completeLength: completeLength), false) : nil }
            // The body is shorter than `Content-Range` says. If the range reaches the end of the representation, the representation ends
            // here.
            guard before == nil, after == nil else { return nil }
            return (head.asPart(start..<end, completeLength: range.upperBound == completeLength ? end : completeLength), false)
        }
    }

    /// Whether the rest of the body can be added later.
    private var mayBeContinued: Bool {
        !head.isDecoded && [.ok, .partialContent].contains(head.response.status) && head.validators.strongText != nil
    }
}

extension CacheEntry.Head {
    /// Returns this head for a range of the representation. If the range has all bytes, the entry counts as whole.
    func asPart(_ range: Range<Int64>, completeLength: Int64?) -> CacheEntry.Head {
        var response = response
        response.status = .ok
        response.headerFields[.contentRange] = nil
        guard range.lowerBound == 0, range.upperBound == completeLength else {
            response.headerFields[.contentLength] = nil
            return with(extent: .part(range, completeLength: completeLength), response: response)
        }
        response.headerFields[.contentLength] = String(range.upperBound)
        return with(extent: .whole(length: range.upperBound), response: response)
    }
}
