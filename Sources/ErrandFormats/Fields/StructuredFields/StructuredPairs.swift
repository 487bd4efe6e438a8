/// An ordered collection of keys and values, used for parameters and dictionaries ([RFC 9651, section
/// 3.1.2](https://www.rfc-editor.org/rfc/rfc9651#section-3.1.2), and [RFC 9651, section
/// 3.2](https://www.rfc-editor.org/rfc/rfc9651#section-3.2)). Each key occurs once.
///
/// A key begins with a lower-case letter or `*`, and continues with lower-case letters, digits, `_`, `-`, `.` and `*`. Serializing a key of
/// any other form throws an error.
public struct StructuredPairs<Value: Sendable & Hashable>: Sendable, RandomAccessCollection {
    /// The largest number of keys that are searched without an index.
    private static var searchedKeys: Int { 8 }

    private var pairs: [(key: String, value: Value)] = []
    private var index: [String: Int] = [:]

    /// Creates an empty collection.
    public init() {}

    /// Always 0.
    public var startIndex: Int { 0 }
    /// The number of pairs.
    public var endIndex: Int { pairs.count }
    /// The pair at `position`. The position is from 0 to ``endIndex`` - 1.
    public subscript(position: Int) -> (key: String, value: Value) { pairs[position] }

    /// The value of `key`; `nil` if the key is missing. A new key is added at the end; an existing key keeps its position.
    public subscript(key: String) -> Value? {
        get { place(of: key).map { pairs[$0].value } }
        set {
            switch (place(of: key), newValue) {
            case (let place?, let value?): pairs[place].value = value
            case (let place?, nil):
                pairs.remove(at: place)
                index = [:]
                if pairs.count > Self.searchedKeys { fillIndex() }
            case (nil, let value?):
                pairs.append((key, value))
                if !index.isEmpty {
                    index[key] = pairs.count - 1
                } else if pairs.count > Self.searchedKeys {
                    fillIndex()
                }
            case (nil, nil): break
            }
        }
    }

    private func place(of key: String) -> Int? { index.isEmpty ? pairs.firstIndex { $0.key == key } : index[key] }

    private mutating func fillIndex() { for (place, pair) in pairs.enumerated() { index[pair.key] = place } }
}

extension StructuredPairs: ExpressibleByDictionaryLiteral {
    /// Creates a collection from a literal. If several values have the same key, the last value is kept.
    public init(dictionaryLiteral elements: (String, Value)...) {
        self.init()
        for (key, value) in elements { self[key] = value }
    }
}

extension StructuredPairs: Hashable {
    /// Whether both collections have the same pairs in the same order.
    public static func == (first: Self, second: Self) -> Bool {
        first.pairs.count == second.pairs.count && zip(first.pairs, second.pairs).allSatisfy { $0 == $1 }
    }

    public func hash(into hasher: inout Hasher) {
        for (key, value) in pairs {
            hasher.combine(key)
            hasher.combine(value)
        }
    }
}
