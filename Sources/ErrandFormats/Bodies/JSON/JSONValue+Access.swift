// The functions of this file read JSON values for which the app has no Swift type.

extension JSONValue {
    /// The member with this name; ``null`` if there is no such member, or if this value is not an object.
    ///
    /// If you set a member, the member is added or replaced. If this value is not an object, it becomes an object, as in a merge patch. If
    /// you set ``null``, the member is kept with the value `null`. To remove a member, call `remove(at:)`.
    public subscript(name: String) -> JSONValue {
        get { if case .object(let members) = self { members[name] ?? .null } else { .null } }
        set {
            var members = objectValue ?? [:]
            self = .null  // `members` is now the only owner, so the change makes no copy
            members[name] = newValue
            self = .object(members)
        }
    }

    /// The member with this name, as a property: `json.user.name = "Ada"`. If ``JSONValue`` has a property with the member's name,
    /// such as `description` or `isNull`, use the subscript. The elements of an array are in ``arrayValue``. The expression
    /// `json.tags.count` reads a member with the name `count`.
    public subscript(dynamicMember name: String) -> JSONValue {
        get { self[name] }
        set { self[name] = newValue }
    }

    /// The value at a place; `nil` if there is no value. Unlike the other subscripts, this subscript distinguishes a member that is
    /// `null` from a missing member.
    public subscript(at pointer: JSONPointer) -> JSONValue? {
        var value = self
        for token in pointer.tokens {
            switch value {
            case .object(let members):
                guard let member = members[token] else { return nil }
                value = member
            case .array(let elements):
                guard let index = JSONPointer.index(token), elements.indices.contains(index) else { return nil }
                value = elements[index]
            default: return nil
            }
        }
        return value
    }

    /// The element at this index, from 0; ``null`` if there is no such element, or if this value is not an array.
    ///
    /// To change an element, write `try json.set(value, at: "/tags/0")`.
    public subscript(index: Int) -> JSONValue {
        if case .array(let elements) = self, elements.indices.contains(index) { elements[index] } else { .null }
    }

    /// Whether the value is ``null``: either the text has `null`, or the value is missing from the text.
    public var isNull: Bool { self == .null }

    /// The text; `nil` for a value that is not a string. A number is not converted.
    public var stringValue: String? { if case .string(let text) = self { text } else { nil } }

    /// The number with all its digits; `nil` for a value that is not a number.
    public var numberValue: JSONNumber? { if case .number(let number) = self { number } else { nil } }

    /// The number as an `Int`; `nil` for a value that is not a number. The result is also `nil` for a fraction, and for a number out of the
    /// range of `Int`. The result for 7.0 is 7.
    public var intValue: Int? { numberValue?.intValue }

    /// The `Double` that is nearest to the number; `nil` for a value that is not a number.
    public var doubleValue: Double? { numberValue?.doubleValue }

    /// The truth value; `nil` for a value that is not `true` or `false`.
    public var boolValue: Bool? { if case .bool(let value) = self { value } else { nil } }

    /// The elements; `nil` for a value that is not an array.
    public var arrayValue: [JSONValue]? { if case .array(let elements) = self { elements } else { nil } }

    /// The members by their names; `nil` for a value that is not an object.
    public var objectValue: [String: JSONValue]? { if case .object(let members) = self { members } else { nil } }
}
