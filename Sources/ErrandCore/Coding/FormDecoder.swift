internal import ErrandFormats

/// A decoder of a `Decodable` value from the names and texts of a form.
struct FormDecoder: Decoder {
    /// The texts of each name, in the order of the form.
    let members: [String: [String]]
    let coding: JSONCoding
    /// Whether the members have the names of the properties.
    let keepsNames: Bool
    var codingPath: [any CodingKey] { [] }
    var userInfo: [CodingUserInfoKey: Any] { [:] }

    /// Creates a decoder for the pairs of a form.
    ///
    /// - Throws: `DecodingError` for two kinds of text, which are slow to compare: a name that is not ASCII and has more than
    ///   `FieldLimits.nameBytes` bytes, and a value with more than 128 combining marks in a row.
    init(_ pairs: [(name: String, value: String?)], coding: JSONCoding) throws {
        var members: [String: [String]] = [:]
        for (name, value) in pairs {
            func refused(_ why: String) -> DecodingError {
                .dataCorrupted(.init(codingPath: [], debugDescription: "\(FormURLEncoded.problem) that can be read: \(why)"))
            }
            guard !name.utf8.isSlowName else { throw refused("a name that is not ASCII is longer than \(FieldLimits.nameBytes) bytes") }
            if let value, value.withUTF8Bytes({ MarkRun.isTooLong(in: UnsafeRawBufferPointer($0)) }) { throw refused(MarkRun.problem) }
            members[name, default: []].append(value ?? "")
        }
        (self.members, self.coding) = (members, coding)
        keepsNames = if case .useDefaultKeys = coding.encoder.keyEncodingStrategy { true } else { false }
    }

    func container<Key: CodingKey>(keyedBy type: Key.Type) -> KeyedDecodingContainer<Key> {
        KeyedDecodingContainer(DecodedMembers(form: self))
    }

    func unkeyedContainer() throws -> any UnkeyedDecodingContainer { throw mismatch([Any].self, at: []) }

    func singleValueContainer() -> any SingleValueDecodingContainer { WholeForm(form: self) }

    /// Returns the texts of the member for `key`; `nil` if there is no such member. The member has the name of the key, or the name that
    /// the coding writes for the key.
    func texts(of key: some CodingKey) -> [String]? {
        if let texts = members[key.stringValue] { return texts }
        return keepsNames ? nil : (try? coding.name(of: key)).flatMap { members[$0] }
    }
}

private func mismatch(_ type: Any.Type, at path: [any CodingKey]) -> DecodingError {
    // The error does not show the text, which may be secret.
    .typeMismatch(type, .init(codingPath: path, debugDescription: "the text does not fit the type"))
}

/// A whole form as a single value, for optionals and for types that wrap another type.
private struct WholeForm: SingleValueDecodingContainer {
    let form: FormDecoder
    var codingPath: [any CodingKey] { [] }

    func decodeNil() -> Bool { false }

    func decode<Value: Decodable>(_ type: Value.Type) throws -> Value {
        if isPlain(type) { throw mismatch(type, at: []) }
        return try type.init(from: form)
    }
}

/// Returns whether a type is decoded from the text of one member. If one of these types decoded itself, the decoding would never end.
private func isPlain(_ type: Any.Type) -> Bool {
    type == String.self || type == Bool.self || type is any FixedWidthInteger.Type || type is any BinaryFloatingPoint.Type
        || type == Decimal.self
        || type == URL.self || type == Date.self || type == Data.self
}

/// The members of a form, by their names.
private struct DecodedMembers<Key: CodingKey>: KeyedDecodingContainerProtocol {
    let form: FormDecoder
    var codingPath: [any CodingKey] { [] }
    var allKeys: [Key] { form.members.keys.compactMap { Key(stringValue: $0) } }

    func contains(_ key: Key) -> Bool { form.texts(of: key) != nil }

    func decodeNil(forKey key: Key) throws -> Bool { (form.texts(of: key) ?? []).allSatisfy(\.isEmpty) }

    private func member(_ key: Key) throws -> MemberDecoder {
        guard let texts = form.texts(of: key) else {
            throw DecodingError.keyNotFound(key, .init(codingPath: codingPath, debugDescription: "no such name"))
        }
        return MemberDecoder(texts: texts, coding: form.coding, codingPath: [key])
    }

    func decode<Value: Decodable>(_ type: Value.Type, forKey key: Key) throws -> Value { try member(key).decode(type) }

    func nestedContainer<NestedKey: CodingKey>(keyedBy: NestedKey.Type, forKey key: Key) throws -> KeyedDecodingContainer<NestedKey> {
        throw mismatch([String: Any].self, at: [key])
    }

    func nestedUnkeyedContainer(forKey key: Key) throws -> any UnkeyedDecodingContainer {
        DecodedElements(member: try member(key))
    }

    func superDecoder() throws -> any Decoder { throw mismatch([String: Any].self, at: []) }
    func superDecoder(forKey key: Key) throws -> any Decoder { throw mismatch([String: Any].self, at: [key]) }
}

/// A decoder of the value of one member.
private struct MemberDecoder: Decoder, SingleValueDecodingContainer {
    let texts: [String]
    let coding: JSONCoding
    let codingPath: [any CodingKey]
    var isElement = false
    var userInfo: [CodingUserInfoKey: Any] { [:] }

    func container<Key: CodingKey>(keyedBy type: Key.Type) throws -> KeyedDecodingContainer<Key> {
        throw mismatch([String: Any].self, at: codingPath)
    }

    func unkeyedContainer() throws -> any UnkeyedDecodingContainer {
        // An element of an array can't be an array. Without this check, the decoding of a type that contains itself would never
        // end.
        guard !isElement else { throw mismatch([Any].self, at: codingPath) }
        return DecodedElements(member: self)
    }

    func singleValueContainer() -> any SingleValueDecodingContainer { self }

    func decodeNil() -> Bool { texts.allSatisfy(\.isEmpty) }

    /// Decodes a value. Types of Foundation and the standard library are decoded here, because some of these types expect numbers or nested
    /// values. Any other type decodes itself.
    func decode<Value: Decodable>(_ type: Value.Type) throws -> Value {
        let plain: Any? =
            switch type {
            case is String.Type: try text()
            case is Bool.Type: Self.bool(try text())
            case let integer as any FixedWidthInteger.Type: Self.integer(integer, try text())
            case is Double.Type: JSONNumber(try text())?.doubleValue
            case is Float.Type: JSONNumber(try text()).map { Float($0.doubleValue) }.flatMap { $0.isFinite ? $0 : nil }
            case is JSONValue.Type: JSONValue.string(try text())
            case is Decimal.Type: JSONNumber(try text())?.decimalValue
            case is URL.Type: URL(string: try text())
            case is Date.Type, is Data.Type: try foundationValue(type)
            default: try type.init(from: self)
            }
        guard let value = plain as? Value else { throw mismatch(type, at: codingPath) }
        return value
    }

    private func text() throws -> String {
        guard texts.count == 1 else {
            throw DecodingError.dataCorrupted(.init(codingPath: codingPath, debugDescription: FormURLEncoded.repeatedName))
        }
        return texts[0]
    }

    private static func bool(_ text: String) -> Bool? {
        if text.isExactly("true") || text.isExactly("1") { return true }
        return text.isExactly("false") || text.isExactly("0") ? false : nil
    }

    private static func integer<Integer: FixedWidthInteger>(_ type: Integer.Type, _ text: String) -> Integer? { Integer(text) }

    /// Returns a `Date` or `Data` value, which the coding decodes from a text or from a number; `nil` if the coding accepts neither.
    private func foundationValue<Value: Decodable>(_ type: Value.Type) throws -> Value? {
        let text = try text()
        for json in [JSONValue.string(text), JSONNumber(text).map { .number($0) }] {
            if let json, let value = try? coding.decode([Value].self, from: Data(JSONValue.array([json]).bytes())).first { return value }
        }
        return nil
    }
}

/// The texts of one name.
private struct DecodedElements: UnkeyedDecodingContainer {
    let member: MemberDecoder
    var codingPath: [any CodingKey] { member.codingPath }
    var count: Int? { member.texts.count }
    var isAtEnd: Bool { currentIndex == member.texts.count }
    private(set) var currentIndex = 0

    init(member: MemberDecoder) { self.member = member }

    private func element<Value>(_ type: Value.Type) throws -> MemberDecoder {
        guard !isAtEnd else { throw DecodingError.valueNotFound(type, .init(codingPath: codingPath, debugDescription: "no more elements")) }
        return MemberDecoder(
            texts: [member.texts[currentIndex]], coding: member.coding, codingPath: codingPath + [ElementIndex(currentIndex)],
            isElement: true)
    }

    mutating func decodeNil() throws -> Bool {
        guard try element(Any?.self).decodeNil() else { return false }
        currentIndex += 1
        return true
    }

    mutating func decode<Value: Decodable>(_ type: Value.Type) throws -> Value {
        let value = try element(type).decode(type)
        currentIndex += 1
        return value
    }

    mutating func nestedContainer<NestedKey: CodingKey>(keyedBy: NestedKey.Type) throws -> KeyedDecodingContainer<NestedKey> {
        try element([String: Any].self).container(keyedBy: NestedKey.self)
    }

    mutating func nestedUnkeyedContainer() throws -> any UnkeyedDecodingContainer { throw mismatch([Any].self, at: codingPath) }

    mutating func superDecoder() throws -> any Decoder { throw mismatch([String: Any].self, at: codingPath) }
}

private struct ElementIndex: CodingKey {
    let index: Int
    var stringValue: String { "\(index)" }
    var intValue: Int? { index }
    init(_ index: Int) { self.index = index }
    init?(stringValue: String) { nil }
    init?(intValue: Int) { nil }
}
