// The functions of this file change JSON values for which the app has no Swift type.

extension JSONValue {
    /// Changes the value by a merge patch ([RFC 7396](https://www.rfc-editor.org/rfc/rfc7396)): the members of `patch` replace the
    /// members of the same name, in nested objects too. If a member of `patch` is `null`, the member of the same name is removed. A
    /// patch that is not an object replaces the whole value.
    ///
    /// ```swift
    /// json.merge(["user": ["name": "Ada", "nickname": nil]])
    /// ```
    public mutating func merge(_ patch: JSONValue) {
        guard case .object(let changes) = patch else {
            self = patch
            return
        }
        var members = objectValue ?? [:]
        self = .null  // `members` is now the only owner, so the changes make no copy
        for (name, change) in changes {
            if change.isNull {
                members[name] = nil
            } else {
                members[name, default: .null].merge(change)
            }
        }
        self = .object(members)
    }

    /// Returns a copy of the value to which a merge patch was applied. See ``merge(_:)``.
    public func merged(with patch: JSONValue) -> JSONValue {
        var value = self
        value.merge(patch)
        return value
    }

    /// Returns the patch that changes this value to `other`: `merged(with: patch) == other`, with one exception. Arrays are replaced as a
    /// whole.
    ///
    /// The exception: a merge patch can't set a member to `null`. If a member of `other` is `null`, the patch removes the member or does
    /// not add it.
    public func mergePatch(to other: JSONValue) -> JSONValue {
        guard case .object(let old) = self, case .object(let new) = other else { return other }
        var patch: [String: JSONValue] = [:]
        for name in old.keys where new[name] == nil { patch[name] = .null }
        for (name, value) in new {
            guard let before = old[name] else {
                patch[name] = value
                continue
            }
            if before != value { patch[name] = before.mergePatch(to: value) }
        }
        return .object(patch)
    }

    /// Sets the value at a place. A member is replaced or added. An element is replaced, or added if the last token is `-` or the
    /// number of elements ([RFC 6901, section 4](https://www.rfc-editor.org/rfc/rfc6901#section-4)).
    ///
    /// ```swift
    /// try json.set("Ada", at: "/user/name")
    /// ```
    ///
    /// - Throws: ``JSONPointerError`` if the parent value of the place is missing, or is neither an object nor an array. The same error is
    ///   thrown for an array if the last token is neither `-` nor an index up to the number of elements.
    public mutating func set(_ value: JSONValue, at pointer: JSONPointer) throws(JSONPointerError) {
        try change(pointer.tokens[...], pointer) { _ in value }
    }

    /// Removes the value at a place, and returns that value; `nil` if the place has no value.
    ///
    /// - Throws: ``JSONPointerError`` if the place is the whole value. The same error is thrown if the parent value is missing, or
    ///   is neither an object nor an array.
    @discardableResult
    public mutating func remove(at pointer: JSONPointer) throws(JSONPointerError) -> JSONValue? {
        guard !pointer.tokens.isEmpty else { throw JSONPointerError(pointer, "the whole value can't be removed") }
        let old = self[at: pointer]
        try change(pointer.tokens[...], pointer) { _ in nil }
        return old
    }

    /// - Parameter make: a closure that gets the old value at the place, and returns the new value. `nil` removes the value.
    private mutating func change(
        _ tokens: ArraySlice<String>, _ pointer: JSONPointer, _ make: (JSONValue?) -> JSONValue?
    ) throws(JSONPointerError) {
        guard let token = tokens.first else {
            self = make(self) ?? .null
            return
        }
        let isLast = tokens.count == 1
        // If there is another reference to a collection, a change copies the collection. Therefore, this value gives up its own reference.
        if var members = objectValue {
            self = .null
            defer { self = .object(members) }
            if isLast {
                members[token] = make(members[token])
            } else {
                guard let index = members.index(forKey: token) else {
                    throw JSONPointerError(pointer, "there is no '\(token.shownSafely(limit: 80))'")
                }
                try members.values[index].change(tokens.dropFirst(), pointer, make)
            }
        } else if var elements = arrayValue {
            self = .null
            defer { self = .array(elements) }
            let index = token.isExactly("-") ? elements.count : JSONPointer.index(token)
            guard let index, index < elements.count else {
                // There is no element at the index. A new element may be added only at the end. Removing a missing
                // element has no effect.
                let new = isLast ? make(nil) : nil
                guard isLast, new == nil || index == elements.count else {
                    throw JSONPointerError(pointer, "there is no element '\(token.shownSafely(limit: 80))'")
                }
                if let new { elements.append(new) }
                return
            }
            if !isLast {
                try elements[index].change(tokens.dropFirst(), pointer, make)
            } else if let new = make(elements[index]) {
                elements[index] = new
            } else {
                elements.remove(at: index)
            }
        } else {
            throw JSONPointerError(pointer, "the parent of '\(token.shownSafely(limit: 80))' is neither an object nor an array")
        }
    }
}

/// The error for a place in a JSON value that can't be changed.
public struct JSONPointerError: Error, Sendable, Hashable, CustomStringConvertible {
    /// The place.
    public let pointer: JSONPointer
    /// The reason why the place can't be changed.
    public let message: String

    init(_ pointer: JSONPointer, _ message: String) { (self.pointer, self.message) = (pointer, message) }

    /// The place and the reason, without control characters: `cannot change /user/name: there is no 'user'`.
    public var description: String { "cannot change \(pointer.description.shownSafely()): \(message)" }
}
