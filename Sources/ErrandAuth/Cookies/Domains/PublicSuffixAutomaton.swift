#if Auth
internal import ErrandFormats

/// The rules of public suffixes as an automaton. Lookups read the automaton directly from a text literal of the program.
///
/// The automaton reads a host from its end to its beginning. `scripts/update-public-suffixes` writes the text, and its help describes the
/// form.
struct PublicSuffixAutomaton: Sendable {
    /// The kinds of the rules that end at a node.
    struct Kinds: OptionSet, Sendable {
        let rawValue: UInt8

        /// A suffix of a registry.
        static let registry = Kinds(rawValue: 1)
        /// A suffix of a company, from the private section of the list.
        static let company = Kinds(rawValue: 2)
        /// An exception to a rule with a wildcard.
        static let exception = Kinds(rawValue: 4)
    }

    /// The offsets of a host's parts, in octets.
    struct Match: Sendable, Hashable {
        /// The offset of the public suffix.
        let suffixStart: Int
        /// The offset of the registrable domain; `nil` if the host is a public suffix.
        let registrableStart: Int?
        /// The end of the host, without a dot at the end.
        let end: Int
    }

    /// The codes of the entries, as in `scripts/update-public-suffixes`.
    private enum Code {
        static let first = UInt8(ascii: "$")
        static let base = 91
        static let chain = 39
        static let child = 78
        static let lastKind = 79
        static let kind = 82
        static let address = 85
        static let index = 87
        static let shortNumbers = 48
        static let mediumNumbers = 34
        static let dot = 37
        static let wildcard = 38
    }

    /// The position of the root in the text.
    let root: Int
    /// The text.
    let octets: StaticString

    /// Reads the entries of nodes.
    private struct Reader {
        /// The beginning of the text. The text is a literal, which exists until the program ends.
        let start: UnsafePointer<UInt8>

        func code(_ place: Int) -> Int { Int(start[place] &- Code.first) }

        /// Returns a number, and the position after the number.
        private func number(_ place: Int) -> (value: Int, end: Int) {
            let first = code(place)
            if first < Code.shortNumbers { return (first, place + 1) }
            let second = code(place + 1)
            if first < Code.shortNumbers + Code.mediumNumbers {
                return (Code.shortNumbers + (first - Code.shortNumbers) * Code.base + second, place + 2)
            }
            let high = first - Code.shortNumbers - Code.mediumNumbers
            let front = Code.shortNumbers + Code.mediumNumbers * Code.base
            return (front + (high * Code.base + second) * Code.base + code(place + 2), place + 3)
        }

        /// Returns the node to which a jump leads.
        private func target(ofJump place: Int) -> Int {
            let value = number(place + 1).value
            return code(place) == Code.address ? value : place - value
        }

        /// Returns the child of a node; `nil` if no rule continues with this symbol.
        func child(of node: Int, by symbol: Int) -> Int? {
            var place = node
            while true {
                let entry = code(place)
                switch entry {
                case ..<Code.chain: return entry == symbol ? place + 1 : nil
                case ..<Code.child:
                    if entry - Code.chain == symbol { return place + 1 }
                    repeat { place += 1 } while code(place) < Code.chain
                    place = code(place) < Code.address ? place + 1 : number(place + 1).end
                case Code.child:
                    let (length, start) = number(place + 2)
                    if code(place + 1) == symbol { return start }
                    place = start + length
                case ..<Code.kind: return nil
                case ..<Code.address: place += 1
                case ..<Code.index: place = target(ofJump: place)
                default: return child(inIndex: place, by: symbol)
                }
            }
        }

        private func child(inIndex place: Int, by symbol: Int) -> Int? {
            let (width, count, symbols) = (code(place) - Code.index + 1, code(place + 1), place + 2)
            for index in 0..<count where code(symbols + index) == symbol {
                let distance = symbols + count + index * width
                return (0..<width).reduce(0) { $0 * Code.base + code(distance + $1) } + symbols + count * (1 + width)
            }
            return nil
        }

        /// Returns the child of a node for the label `*`; `nil` if no rule has this label at the node. The symbol `*` is the first symbol
        /// of its node.
        func wildcard(of node: Int) -> Int? {
            var place = node
            while true {
                let entry = code(place)
                switch entry {
                case Code.wildcard, Code.chain + Code.wildcard: return place + 1
                case Code.child: return code(place + 1) == Code.wildcard ? number(place + 2).end : nil
                case ..<Code.address: return nil
                case ..<Code.index: place = target(ofJump: place)
                default: return code(place + 2) == Code.wildcard ? child(inIndex: place, by: Code.wildcard) : nil
                }
            }
        }

        /// Returns the kinds of the rules that end at a node. The kinds are the first entries of the node.
        func kinds(of node: Int) -> Kinds {
            var (place, found) = (node, Kinds())
            while true {
                let entry = code(place)
                switch entry {
                case ..<Code.lastKind: return found
                case ..<Code.kind: return found.union(Kinds(rawValue: 1 << UInt8(entry - Code.lastKind)))
                case ..<Code.address:
                    found.insert(Kinds(rawValue: 1 << UInt8(entry - Code.kind)))
                    place += 1
                case ..<Code.index: place = target(ofJump: place)
                default: return found
                }
            }
        }
    }

    /// Returns the code of an octet of a host; `nil` for an octet that is in no rule.
    private static func symbol(_ octet: UInt8) -> Int? {
        switch octet {
        case UInt8(ascii: "a")...UInt8(ascii: "z"): Int(octet - UInt8(ascii: "a"))
        case UInt8(ascii: "A")...UInt8(ascii: "Z"): Int(octet - UInt8(ascii: "A"))
        case UInt8(ascii: "0")...UInt8(ascii: "9"): Int(octet - UInt8(ascii: "0")) + 26
        case UInt8(ascii: "-"): 36
        default: nil
        }
    }

    /// Returns the parts of a host.
    ///
    /// - Parameter included: the kinds of the rules that apply.
    /// - Returns: `nil` for an address, and for a text with an empty label.
    func match(_ host: UnsafeBufferPointer<UInt8>, including included: Kinds) -> Match? {
        let dot = UInt8(ascii: ".")
        let end = host.last == dot ? host.count - 1 : host.count
        guard Self.isName(UnsafeBufferPointer(rebasing: host[..<end])) else { return nil }
        let reader = Reader(start: octets.utf8Start)
        var (suffixStart, labelEnd, node): (Int?, Int, Int) = (nil, end, root)
        while true {
            let wildcard = reader.wildcard(of: node)
            var (start, label): (Int, Int?) = (labelEnd, node)
            while start > 0, host[start - 1] != dot {
                start -= 1
                guard let place = label else { continue }
                label = Self.symbol(host[start]).flatMap { reader.child(of: place, by: $0) }
            }
            let found = label.map { reader.kinds(of: $0) } ?? []
            if found.contains(.exception) {
                suffixStart = labelEnd + 1
                break
            }
            let isRule = !found.isDisjoint(with: included) || wildcard.map { !reader.kinds(of: $0).isDisjoint(with: included) } ?? false
            if isRule || suffixStart == nil { suffixStart = start }
            guard start > 0, let place = label, let next = reader.child(of: place, by: Code.dot) else { break }
            (node, labelEnd) = (next, start - 1)
        }
        let suffix = suffixStart ?? 0
        guard suffix > 0 else { return Match(suffixStart: 0, registrableStart: nil, end: end) }
        var front = suffix - 1
        while front > 0, host[front - 1] != dot { front -= 1 }
        return Match(suffixStart: suffix, registrableStart: front, end: end)
    }

    /// Returns whether a host has labels, no empty label, and is not an address.
    private static func isName(_ host: UnsafeBufferPointer<UInt8>) -> Bool {
        var labelStart = 0
        for index in 0..<host.count {
            switch host[index] {
            case UInt8(ascii: "."):
                if index == labelStart { return false }
                labelStart = index + 1
            // An IPv6 address, with or without brackets.
            case UInt8(ascii: ":"), UInt8(ascii: "["): return false
            default: break
            }
        }
        return labelStart < host.count && !isNumber(UnsafeBufferPointer(rebasing: host[labelStart...]))
    }

    /// Returns whether a label is a number. A host whose last label is a number is an IPv4 address, or invalid
    /// ([URL Standard, section 3.5](https://url.spec.whatwg.org/#ends-in-a-number-checker)).
    private static func isNumber(_ label: UnsafeBufferPointer<UInt8>) -> Bool {
        guard label[0].isASCIIDigit else { return false }
        if label.allSatisfy(\.isASCIIDigit) { return true }
        return label.count >= 2 && label[0] == UInt8(ascii: "0") && label[1].asciiLowercased == UInt8(ascii: "x")
            && label[2...].allSatisfy(\.isHexDigit)
    }
}
#endif
