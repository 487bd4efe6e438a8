internal import ErrandCore

extension CacheEngine {
    // MARK: - Freshening

    /// Freshens the entries that a 304 confirms ([RFC 9111, section 4.3.4](https://www.rfc-editor.org/rfc/rfc9111#section-4.3.4)).
    func receiveNotModified(_ response: HTTPResponse, of exchange: ReceivedExchange, in reception: inout CacheReception) {
        let (request, forward) = (exchange.request, exchange.forward)
        let isOwnCondition = forward.candidates.isEmpty
        // The 304 is the response to the caller's own condition. The 304 also confirms the stored response with the same validator.
        let candidates = isOwnCondition ? exchange.entries.filter { isConfirmed($0, by: response, of: exchange) } : forward.candidates
        let confirmed = ValidationRule.confirmed(by: response.headerFields, among: candidates, responseTime: exchange.responseTime)
        let updates = confirmed.map { (entry: $0, head: updatedHead(of: $0, response, exchange)) }
        if forward.mayStore {
            for update in updates {
                switch update.head {
                case .success(let head): reception.updates.append(.init(id: update.entry.id, head: head))
                case .failure: reception.removals.append(update.entry.id)
                }
            }
        }
        if isOwnCondition { return }
        guard let served = updates.first(where: { variants.matches($0.entry.head, request) }) ?? updates.first else {
            reception.outcome = .sendAgain(unconditional(exchange.forward))
            return
        }
        let (head, refusal) = kept(served.head, of: served.entry, response, exchange)
        let entry = CacheEntry(id: served.entry.id, head: head)
        var status = CacheStatus(.forwarded(forward.reason), forwardedStatus: .notModified)
        status.timeToLive = freshness.remaining(of: head, at: exchange.responseTime)
        status.refusal = refusal ?? forward.innerRefusal
        status.isStored = status.refusal == nil
        status.isRevalidated = variants.matches(served.entry.head, request)
        status.isReselected = !status.isRevalidated
        reception.status = status
        reception.outcome = .serve(serving(entry, for: request, status: status, sent: response.headerFields, at: exchange.responseTime))
    }

    /// Returns whether a 304 to the caller's own condition has the validator of an entry.
    private func isConfirmed(_ entry: CacheEntry, by response: HTTPResponse, of exchange: ReceivedExchange) -> Bool {
        let new = ResponseValidators(response.headerFields, receivedAt: exchange.responseTime.date)
        guard variants.matches(entry.head, exchange.request) else { return false }
        if let tag = new.tag { return entry.head.validators.tag?.matches(tag, by: .weak) == true }
        return new.modified != nil && new.modified == entry.head.validators.modified
    }

    /// Returns how a request is sent again, without the conditions of the cache, after a 400 or 431. Servers refuse long heads with these
    /// statuses, and the conditions may have made the head too long. `nil` for another status, if the cache has set no conditions, or if
    /// the method is not safe. The request without conditions is sent once.
    func repetition(after response: HTTPResponse, of exchange: ReceivedExchange) -> CacheForward? {
        let forward = exchange.forward
        guard [400, 431].contains(response.status.code), exchange.request.method.isSafe,
            !forward.candidates.isEmpty || forward.completes != nil
        else { return nil }
        var repetition = unconditional(forward)
        repetition.fallback = forward.fallback
        return repetition
    }

    /// Returns how a request is sent again, without the conditions of the cache.
    private func unconditional(_ forward: CacheForward) -> CacheForward {
        let fields = forward.fields.filter { ![.ifNoneMatch, .ifModifiedSince, .ifRange, .range].contains($0.name) }
        var unconditional = CacheForward(reason: forward.reason, fields: fields, mayStore: forward.mayStore)
        unconditional.innerRefusal = forward.innerRefusal
        return unconditional
    }

    /// Returns the head of an entry with the fields of a new response, or why the cache must not keep an entry with the new fields.
    private func updatedHead(
        of entry: CacheEntry, _ response: HTTPResponse, _ exchange: ReceivedExchange
    ) -> Result<CacheEntry.Head, CacheStatus.Refusal> {
        Result { () throws(CacheStatus.Refusal) in
            let head = try storage.head(
                updating: entry.head, with: response.headerFields, for: exchange.request,
                isOfRequest: variants.matches(entry.head, exchange.request), requestTime: exchange.requestTime,
                responseTime: exchange.responseTime)
            // The key of the entry follows from the old `No-Vary-Search`.
            if policy.usesNoVarySearch, head.noVarySearch != entry.head.noVarySearch { throw .removed }
            return head
        }
    }

    /// Returns the head that the caller gets, and why the cache must not keep an entry with this head.
    private func kept(
        _ updated: Result<CacheEntry.Head, CacheStatus.Refusal>, of entry: CacheEntry, _ response: HTTPResponse,
        _ exchange: ReceivedExchange
    ) -> (head: CacheEntry.Head, refusal: CacheStatus.Refusal?) {
        switch updated {
        case .success(let head): (head, nil)
        case .failure(let refusal): (mergedHead(of: entry, response, exchange), refusal)
        }
    }

    /// Returns the head that the caller gets if the cache must not keep an entry with the new fields.
    private func mergedHead(of entry: CacheEntry, _ response: HTTPResponse, _ exchange: ReceivedExchange) -> CacheEntry.Head {
        var stored = entry.head.response
        stored.headerFields = StoredFields.stored(
            StoredFields.updated(stored.headerFields, with: response.headerFields), control: CacheControl(response.headerFields),
            isShared: policy.isShared, received: exchange.responseTime.date)
        return CacheEntry.Head(
            response: stored, requestTime: exchange.requestTime, responseTime: exchange.responseTime, selection: entry.head.selection,
            extent: entry.head.extent, isDecoded: entry.head.isDecoded)
    }

    /// Updates or removes the entries that a response to HEAD describes
    /// ([RFC 9111, section 4.3.5](https://www.rfc-editor.org/rfc/rfc9111#section-4.3.5)).
    func receiveHead(_ response: HTTPResponse, of exchange: ReceivedExchange, in reception: inout CacheReception) {
        guard response.status == .ok else { return removeReplaced(by: response, of: exchange, in: &reception) }
        let fields = response.headerFields
        let new = ResponseValidators(fields, receivedAt: exchange.responseTime.date)
        let length = response.announcedLength
        for entry in exchange.entries where variants.matches(entry.head, exchange.request) && entry.head.response.status == .ok {
            let known = entry.head.validators
            let isSame =
                (new.tag == nil || known.tag.map { $0.matches(new.tag ?? $0, by: .weak) } == true)
                && (new.modified == nil || new.modified == known.modified)
                && (length == nil || entry.head.isDecoded || length == entry.head.extent.completeLength)
            if isSame, case .success(let head) = updatedHead(of: entry, response, exchange) {
                reception.updates.append(.init(id: entry.id, head: head))
            } else {
                reception.removals.append(entry.id)
            }
        }
    }

    // MARK: - Parts

    /// Adds the missing bytes to a stored part ([RFC 9111, section 3.4](https://www.rfc-editor.org/rfc/rfc9111#section-3.4)).
    func receiveCompletion(
        _ response: HTTPResponse, of part: CacheEntry, _ exchange: ReceivedExchange, in reception: inout CacheReception
    ) {
        guard response.status == .partialContent, RangeRule.completes(part.head, response, responseTime: exchange.responseTime),
            let content = response.contentRange, let range = content.range
        else {
            reception.outcome = .sendAgain(unconditional(exchange.forward))
            return
        }
        let beginning = CachePiece(entry: part, offsets: 0..<part.head.extent.storedBytes)
        let (updated, refusedHead) = kept(updatedHead(of: part, response, exchange), of: part, response, exchange)
        let refusal = refusedHead ?? exchange.forward.innerRefusal
        let whole = updated.asPart(0..<range.upperBound, completeLength: range.upperBound)
        var write: CacheWrite?
        if refusal == nil {
            write = CacheWrite(
                head: updated, announced: .part(range, completeLength: content.completeLength), before: beginning,
                replaces: replaced(by: updated, of: exchange))
        } else if refusedHead != nil {
            reception.removals.append(part.id)
        }
        (reception.status.isStored, reception.status.refusal) = (refusal == nil, refusal)
        var head = whole.response
        head.headerFields = StoredFields.withoutRepetitions(head.headerFields, sent: response.headerFields)
        reception.outcome = .complete(CacheCompletion(head: head, beginning: beginning, length: range.upperBound, write: write))
    }

    // MARK: - Storing

    /// Stores a response.
    func receiveWhole(_ response: HTTPResponse, of exchange: ReceivedExchange, in reception: inout CacheReception) {
        let head: CacheEntry.Head
        do throws(CacheStatus.Refusal) {
            head = try storage.head(
                of: response, for: exchange.request, requestTime: exchange.requestTime, responseTime: exchange.responseTime)
        } catch {
            reception.status.refusal = error
            return removeReplaced(by: response, of: exchange, in: &reception)
        }
        guard response.status == .partialContent, let content = response.contentRange, let range = content.range else {
            let announced = CacheWrite.Announced.whole(length: response.announcedLength)
            return store(CacheWrite(head: head, announced: announced, replaces: replaced(by: head, of: exchange)), in: &reception)
        }
        let matching = exchange.entries.filter { variants.matches($0.head, exchange.request) }
        if let whole = matching.first(where: { $0.head.extent.isWhole && $0.head.response.status == .ok }) {
            if whole.head.validators.areStronglyEqual(head.validators) {
                // The part shows that the whole response is unchanged.
                switch updatedHead(of: whole, response, exchange) {
                case .success(let updated): reception.updates.append(.init(id: whole.id, head: updated))
                case .failure(let refusal): reception.status.refusal = refusal
                }
                return
            }
            // Without a strong validator, the part may belong to the representation of the whole response. Therefore, the whole response is
            // kept, and the part is not stored.
            guard head.validators.strongText != nil else {
                reception.status.refusal = .range
                return
            }
        }
        var write = CacheWrite(
            head: head, announced: .part(range, completeLength: content.completeLength), replaces: replaced(by: head, of: exchange))
        for part in matching where !part.head.extent.isWhole && part.head.validators.areStronglyEqual(head.validators) {
            guard part.head.extent.completeLength == content.completeLength, let pieces = RangeRule.pieces(of: part, around: range) else {
                continue
            }
            (write.before, write.after) = pieces
            break
        }
        store(write, in: &reception)
    }

    private func store(_ write: CacheWrite, in reception: inout CacheReception) {
        reception.outcome = .pass(write)
        reception.status.isStored = true
        reception.status.timeToLive = freshness.remaining(of: write.head, at: write.head.responseTime)
    }

    /// Returns the entries that a new entry replaces:
    /// - the entries that match the request
    /// - the entries whose `selection` equals the `selection` of the new head
    /// - the oldest entries, if the key would have more than ``CacheLimits/variants`` entries
    private func replaced(by head: CacheEntry.Head, of exchange: ReceivedExchange) -> [CacheEntry.ID] {
        var kept: [CacheEntry] = []
        var replaced: [CacheEntry.ID] = []
        for entry in exchange.entries {
            if variants.matches(entry.head, exchange.request) || entry.head.selection == head.selection {
                replaced.append(entry.id)
            } else {
                kept.append(entry)
            }
        }
        kept.sort { $0.head.responseTime.sinceEpoch < $1.head.responseTime.sinceEpoch }
        return replaced + kept.prefix(max(0, kept.count + 1 - CacheLimits.variants)).map(\.id)
    }

    /// Removes the entries that match a request. The response to the request is not stored, but shows that these entries are out of date.
    private func removeReplaced(by response: HTTPResponse, of exchange: ReceivedExchange, in reception: inout CacheReception) {
        let code = response.status.code
        let replaces = [200, 203, 204, 300, 301, 308, 404, 410].contains(code)
        guard exchange.request.isServable, replaces, !exchange.request.control.contains(.noStore) else { return }
        reception.removals += exchange.entries.filter { variants.matches($0.head, exchange.request) }.map(\.id)
    }
}
