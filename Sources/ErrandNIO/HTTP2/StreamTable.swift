#if SWIFT_NIO
/// A hash table whose keys are the identifiers of streams. Identifiers are positive.
///
/// Identifiers are consecutive odd numbers, so their low bits serve as the hash. Unlike in a dictionary, a change in place allocates no
/// memory.
struct StreamTable<Value> {
    /// The identifiers; 0 marks a free slot. At least one slot is free. Each identifier is at its home index (`ownPlace`) or at a later
    /// index. Between these two indices, no slot is free.
    private var numbers: [Int32] = []
    private var values: [Value?] = []
    private(set) var count = 0

    init() {}

    var isEmpty: Bool { count == 0 }
    func contains(_ number: Int32) -> Bool { place(of: number) != nil }
    /// The identifiers in ascending order.
    var keys: [Int32] { numbers.filter { $0 != 0 }.sorted() }

    subscript(number: Int32) -> Value? {
        @inline(__always) get { place(of: number).flatMap { values[$0] } }
        set {
            if let place = place(of: number) {
                values[place] = newValue
                if newValue == nil { free(place) }
            } else if let newValue {
                insert(newValue, for: number)
            }
        }
    }

    /// Changes a value in place. A yielding accessor would allocate memory for each change.
    ///
    /// - Returns: the result of `body`; `nil` if the table does not have the identifier.
    @discardableResult
    @inline(__always) mutating func change<Result>(_ number: Int32, _ body: (inout Value) -> Result) -> Result? {
        guard let place = place(of: number), values[place] != nil else { return nil }
        return body(&values[place]!)
    }

    mutating func removeValue(forKey number: Int32) -> Value? {
        guard let place = place(of: number) else { return nil }
        let value = values[place]
        values[place] = nil
        free(place)
        return value
    }

    private func ownPlace(of number: Int32) -> Int { Int(number >> 1) & (numbers.count - 1) }
    private func next(_ place: Int) -> Int { (place + 1) & (numbers.count - 1) }

    private func place(of number: Int32) -> Int? {
        guard !isEmpty else { return nil }
        var place = ownPlace(of: number)
        while numbers[place] != number {
            guard numbers[place] != 0 else { return nil }
            place = next(place)
        }
        return numbers[place] == 0 ? nil : place
    }

    private mutating func insert(_ value: Value, for number: Int32) {
        precondition(number > 0, "the identifier of a stream must be positive (is \(number))")
        if 2 * count >= numbers.count { grow() }
        var place = ownPlace(of: number)
        while numbers[place] != 0 { place = next(place) }
        (numbers[place], values[place]) = (number, value)
        count += 1
    }

    private mutating func grow() {
        let former = zip(numbers, values)
        numbers = Array(repeating: 0, count: max(8, 2 * numbers.count))
        values = Array(repeating: nil, count: numbers.count)
        count = 0
        for case (let number, let value?) in former { insert(value, for: number) }
    }

    /// Removes the entry at the index `place` without a tombstone. Later entries of the probe sequence move back into the gap if their home
    /// index allows the move.
    private mutating func free(_ place: Int) {
        var free = place
        numbers[free] = 0
        count -= 1
        var place = next(free)
        while numbers[place] != 0 {
            let mask = numbers.count - 1
            if (place - ownPlace(of: numbers[place])) & mask >= (place - free) & mask {
                numbers.swapAt(free, place)
                values.swapAt(free, place)
                free = place
            }
            place = next(place)
        }
    }
}

extension StreamTable: Sendable where Value: Sendable {}
#endif
