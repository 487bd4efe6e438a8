/// Keys and values in order, each key once: parameters, and dictionaries (RFC 9651, 3.1.2 and 3.2).
///
/// A key begins with a lower-case letter or `*`, and goes on with lower-case letters, digits, `_`, `-`, `.` and `*`; another is refused when
/// it is serialised.
public struct StructuredPairs<Value: Sendable & Hashable>: Sendable, RandomAccessCollection {
    /// Beyond these, a key is looked up in an index.
    private static var searchedKeys: Int { 8 }

    private var pairs: [(key: String, value: Value)] = []
    private var index: [String: Int] = [:]

    public init() {}

    public var startIndex: Int { 0 }
    public var endIndex: Int { pairs.count }
    public subscript(position: Int) -> (key: String, value: Value) { pairs[position] }

    /// The value of `key`; nil if there is none. A new key goes to the end, and one that is there keeps its place.
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
    /// The last of several values with one key counts.
    public init(dictionaryLiteral elements: (String, Value)...) {
        self.init()
        for (key, value) in elements { self[key] = value }
    }
}

extension StructuredPairs: Hashable {
    /// The order counts.
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
