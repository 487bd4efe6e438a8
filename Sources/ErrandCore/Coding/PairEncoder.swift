internal import ErrandFormats

/// A name and its texts, encoded from a member of an `Encodable` value. Queries and forms, which have no nesting, use this
/// type.
///
/// A `nil` member is left out. Property names, dates and data are written as in a ``JSONCoding``. All other values are written as in a
/// ``QueryValue``. The members are in the order in which the value encodes them. The members of a dictionary are sorted by name.
struct EncodedPair: Sendable, Hashable {
    let name: String
    /// One text for a plain value, or one text for each element of an array.
    var texts: [String]
    let isArray: Bool

    /// Returns the members of `value`.
    ///
    /// - Throws: `EncodingError` if `value` has no named members, or if a member is nested; also any error that `value` throws.
    static func pairs(
        of value: some Encodable, coding: JSONCoding, bools: FormURLEncoded.BoolStyle = .words, nils: FormURLEncoded.NilStyle = .omitted
    ) throws -> [EncodedPair] {
        let storage = PairStorage(coding: coding, bools: bools, nils: nils)
        try storage.encode(value, at: .top, path: [])
        return storage.sortedPairs
    }
}

private protocol StringKeyedDictionary {
    var members: [(name: String, value: any Encodable)] { get }
}

extension Dictionary: StringKeyedDictionary where Key == String, Value: Encodable {
    fileprivate var members: [(name: String, value: any Encodable)] { map { ($0.key, $0.value) } }
}

/// The pairs encoded so far, shared by all containers of one value.
private final class PairStorage {
    /// The place of a value: the top level, a member, or an element of an array.
    enum Position {
        case top
        case member(String)
        /// An element of an array. The array's pair has this index.
        case element(Int)
    }

    var pairs: [EncodedPair] = []
    /// The indices of the pairs that are members of a dictionary. These pairs must be sorted, because the order of a dictionary differs
    /// between processes.
    private var ofDictionaries: [Int] = []
    /// The type of the keys of the last container.
    private(set) var keyType: ObjectIdentifier?

    /// The type of the keys with which a dictionary encodes itself: an internal type of the standard library.
    private static let dictionaryKeyType: ObjectIdentifier? = {
        let storage = PairStorage(coding: .standard)
        // The dictionary is empty, because encoding a member would read this property before its initialization.
        try? [String: String]().encode(to: PairEncoder(storage: storage, position: .top, codingPath: []))
        return storage.keyType
    }()

    /// The rules for property names, dates and data.
    private let coding: JSONCoding
    private let encoder: JSONEncoder
    private let bools: FormURLEncoded.BoolStyle
    private let nils: FormURLEncoded.NilStyle
    /// The first failure. The failure is stored, because the functions that create containers can't throw.
    private var failure: EncodingError?

    init(coding: JSONCoding, bools: FormURLEncoded.BoolStyle = .words, nils: FormURLEncoded.NilStyle = .omitted) {
        self.coding = coding
        encoder = coding.encoder
        self.bools = bools
        self.nils = nils
    }

    /// The pairs, with the members of dictionaries sorted by name.
    var sortedPairs: [EncodedPair] {
        var sorted = pairs
        let members = ofDictionaries.map { pairs[$0] }.sorted { $0.name < $1.name }
        for (index, member) in zip(ofDictionaries, members) { sorted[index] = member }
        return sorted
    }

    /// Records the type of the keys of a new container.
    func beginMembers(_ type: (some CodingKey).Type) { keyType = ObjectIdentifier(type) }

    /// Encodes a member of a container whose keys have the type of `key`.
    func encodeMember(_ value: some Encodable, _ key: some CodingKey, path: [any CodingKey]) throws {
        let first = pairs.count
        try encode(value, at: member(key, path: path), path: path + [key])
        if ObjectIdentifier(type(of: key)) == Self.dictionaryKeyType { ofDictionaries += first..<pairs.count }
    }

    func encode(_ value: some Encodable, at position: Position, path: [any CodingKey]) throws {
        if let failure { throw failure }
        if value is Date || value is Data {
            if let text = try encoder.text(of: value) { write(text, at: position, path: path) } else { failNested(at: path) }
        } else if let text = text(of: value) {
            write(text, at: position, path: path)
        } else if case .top = position, let dictionary = value as? any StringKeyedDictionary {
            // The keys of a dictionary are not names of properties. As in JSON, the keys stay unchanged.
            for (name, member) in dictionary.members {
                let first = pairs.count
                try encode(member, at: .member(name), path: path + [PlainKey(name)])
                ofDictionaries += first..<pairs.count
            }
        } else {
            try value.encode(to: PairEncoder(storage: self, position: position, codingPath: path))
        }
        if let failure { throw failure }
    }

    /// Returns the text of a plain value; `nil` for any other value. Foundation encodes some of these types as numbers or as
    /// nested values.
    private func text(of value: some Encodable) -> String? {
        switch value {
        case let value as Bool: bools.text(value)
        case let value as any FixedWidthInteger: value.description
        case is String, is Decimal, is URL, is Double, is Float: (value as? any QueryValue)?.queryValues.first
        default: nil
        }
    }

    /// Encodes a `nil` member.
    func encodeNilMember(_ key: some CodingKey, path: [any CodingKey]) throws {
        if let text = nils.text { try encodeMember(text, key, path: path) }
    }

    /// Encodes a `nil` element or a `nil` single value.
    func encodeNil(at position: Position, path: [any CodingKey]) throws {
        if let text = nils.text { try encode(text, at: position, path: path) }
    }

    /// Returns the position of a property. The coding determines the member's name, such as `user_name` for `userName`.
    func member(_ key: any CodingKey, path: [any CodingKey]) -> Position {
        if case .useDefaultKeys = encoder.keyEncodingStrategy { return .member(key.stringValue) }
        do {
            return .member(try coding.name(of: key))
        } catch {
            fail("the JSON encoder cannot write the name '\(key.stringValue)'", at: path)
            return .member(key.stringValue)
        }
    }

    private func write(_ text: String, at position: Position, path: [any CodingKey]) {
        switch position {
        case .top: fail("the value has no name: encode a structure or a dictionary", at: path)
        case .member(let name): pairs.append(EncodedPair(name: name, texts: [text], isArray: false))
        case .element(let index): pairs[index].texts.append(text)
        }
    }

    /// Begins an array at `position`, and returns the index of its pair.
    func beginArray(at position: Position, path: [any CodingKey]) -> Int {
        if case .member(let name) = position {
            pairs.append(EncodedPair(name: name, texts: [], isArray: true))
        } else {
            fail("the array has no name: queries and forms hold arrays only as members", at: path)
            pairs.append(EncodedPair(name: "", texts: [], isArray: true))
        }
        return pairs.count - 1
    }

    func fail(_ why: String, at path: [any CodingKey]) {
        // The error does not show the value, which may be secret.
        if failure == nil { failure = .invalidValue("…", EncodingError.Context(codingPath: path, debugDescription: why)) }
    }

    func failNested(at path: [any CodingKey]) {
        let name = path.map(\.stringValue).joined(separator: ".")
        let rule = "queries and forms hold plain values and arrays of plain values"
        fail("'\(name)' is nested: \(rule); flatten the value, or send the value as JSON", at: path)
    }
}

private struct PairEncoder: Encoder {
    let storage: PairStorage
    let position: PairStorage.Position
    let codingPath: [any CodingKey]
    var userInfo: [CodingUserInfoKey: Any] { [:] }

    func container<Key: CodingKey>(keyedBy type: Key.Type) -> KeyedEncodingContainer<Key> {
        if case .top = position {} else { storage.failNested(at: codingPath) }
        storage.beginMembers(type)
        return KeyedEncodingContainer(PairMembers<Key>(storage: storage, codingPath: codingPath))
    }

    func unkeyedContainer() -> any UnkeyedEncodingContainer {
        PairElements(storage: storage, index: storage.beginArray(at: position, path: codingPath), codingPath: codingPath)
    }

    func singleValueContainer() -> any SingleValueEncodingContainer {
        PairValue(storage: storage, position: position, codingPath: codingPath)
    }
}

private struct PairMembers<Key: CodingKey>: KeyedEncodingContainerProtocol {
    let storage: PairStorage
    let codingPath: [any CodingKey]

    mutating func encodeNil(forKey key: Key) throws { try storage.encodeNilMember(key, path: codingPath) }

    mutating func encode<Value: Encodable>(_ value: Value, forKey key: Key) throws {
        try storage.encodeMember(value, key, path: codingPath)
    }

    // These functions are implemented, because the default implementations leave out `nil`.
    mutating func encodeIfPresent<Value: Encodable>(_ value: Value?, forKey key: Key) throws { try encodeOptional(value, key) }
    mutating func encodeIfPresent(_ value: Bool?, forKey key: Key) throws { try encodeOptional(value, key) }
    mutating func encodeIfPresent(_ value: String?, forKey key: Key) throws { try encodeOptional(value, key) }
    mutating func encodeIfPresent(_ value: Double?, forKey key: Key) throws { try encodeOptional(value, key) }
    mutating func encodeIfPresent(_ value: Float?, forKey key: Key) throws { try encodeOptional(value, key) }
    mutating func encodeIfPresent(_ value: Int?, forKey key: Key) throws { try encodeOptional(value, key) }
    mutating func encodeIfPresent(_ value: Int8?, forKey key: Key) throws { try encodeOptional(value, key) }
    mutating func encodeIfPresent(_ value: Int16?, forKey key: Key) throws { try encodeOptional(value, key) }
    mutating func encodeIfPresent(_ value: Int32?, forKey key: Key) throws { try encodeOptional(value, key) }
    mutating func encodeIfPresent(_ value: Int64?, forKey key: Key) throws { try encodeOptional(value, key) }
    mutating func encodeIfPresent(_ value: UInt?, forKey key: Key) throws { try encodeOptional(value, key) }
    mutating func encodeIfPresent(_ value: UInt8?, forKey key: Key) throws { try encodeOptional(value, key) }
    mutating func encodeIfPresent(_ value: UInt16?, forKey key: Key) throws { try encodeOptional(value, key) }
    mutating func encodeIfPresent(_ value: UInt32?, forKey key: Key) throws { try encodeOptional(value, key) }
    mutating func encodeIfPresent(_ value: UInt64?, forKey key: Key) throws { try encodeOptional(value, key) }

    private mutating func encodeOptional(_ value: (some Encodable)?, _ key: Key) throws {
        if let value { try encode(value, forKey: key) } else { try encodeNil(forKey: key) }
    }

    mutating func nestedContainer<NestedKey: CodingKey>(
        keyedBy type: NestedKey.Type, forKey key: Key
    ) -> KeyedEncodingContainer<NestedKey> {
        PairEncoder(storage: storage, position: storage.member(key, path: codingPath), codingPath: codingPath + [key])
            .container(keyedBy: type)
    }

    mutating func nestedUnkeyedContainer(forKey key: Key) -> any UnkeyedEncodingContainer {
        PairEncoder(storage: storage, position: storage.member(key, path: codingPath), codingPath: codingPath + [key]).unkeyedContainer()
    }

    mutating func superEncoder() -> any Encoder { nested(PlainKey("super")) }
    mutating func superEncoder(forKey key: Key) -> any Encoder { nested(key) }

    private func nested(_ key: any CodingKey) -> any Encoder {
        storage.failNested(at: codingPath + [key])
        return PairEncoder(storage: storage, position: .top, codingPath: codingPath + [key])
    }
}

private struct PairElements: UnkeyedEncodingContainer {
    let storage: PairStorage
    let index: Int
    let codingPath: [any CodingKey]
    private(set) var count = 0

    init(storage: PairStorage, index: Int, codingPath: [any CodingKey]) {
        (self.storage, self.index, self.codingPath) = (storage, index, codingPath)
    }

    private mutating func nextPath() -> [any CodingKey] {
        defer { count += 1 }
        return codingPath + [PlainKey(count)]
    }

    mutating func encodeNil() throws { try storage.encodeNil(at: .element(index), path: nextPath()) }

    mutating func encode<Value: Encodable>(_ value: Value) throws {
        try storage.encode(value, at: .element(index), path: nextPath())
    }

    mutating func nestedContainer<NestedKey: CodingKey>(keyedBy type: NestedKey.Type) -> KeyedEncodingContainer<NestedKey> {
        PairEncoder(storage: storage, position: .element(index), codingPath: nextPath()).container(keyedBy: type)
    }

    mutating func nestedUnkeyedContainer() -> any UnkeyedEncodingContainer {
        PairEncoder(storage: storage, position: .element(index), codingPath: nextPath()).unkeyedContainer()
    }

    mutating func superEncoder() -> any Encoder {
        let path = nextPath()
        storage.failNested(at: path)
        return PairEncoder(storage: storage, position: .top, codingPath: path)
    }
}

private struct PairValue: SingleValueEncodingContainer {
    let storage: PairStorage
    let position: PairStorage.Position
    let codingPath: [any CodingKey]

    mutating func encodeNil() throws { try storage.encodeNil(at: position, path: codingPath) }
    mutating func encode<Value: Encodable>(_ value: Value) throws { try storage.encode(value, at: position, path: codingPath) }
}

extension JSONEncoder {
    /// Returns the text that the encoder writes for a value, without quotation marks; `nil` if the encoder writes an object or an
    /// array.
    fileprivate func text(of value: some Encodable) throws -> String? {
        // The value is encoded within an array, because encoders may refuse a single plain value.
        switch try JSONValue(parsing: encode([value]))[0] {
        case .string(let text): text
        case .number(let number): number.description
        default: nil
        }
    }
}
