/// A check of a stack's order against the rules of its layers. The check has no side effects, and runs only on request.
struct MiddlewareOrder {
    /// One rule: `outer` must be outside `inner`. `outer` and `inner` are indices of layers. If several layers have the same
    /// place, the rule applies to the outermost layer.
    private struct Rule: Hashable {
        let outer: Int
        let inner: Int
        let reason: String

        var isKept: Bool { outer < inner }
    }

    private let layers: [HTTPStack.Layer]
    /// The rules, sorted by the layers that declare the rules, outermost first. No pair of layers occurs twice.
    private let rules: [Rule]
    /// A sentence for each place that must not occur twice, but occurs twice.
    private let repetitions: [String]

    /// Creates a check of the layers of a stack.
    ///
    /// - Parameters:
    ///   - layers: outermost first.
    ///   - isSorted: whether the stack sorts its layers.
    init(_ layers: [HTTPStack.Layer], isSorted: Bool) {
        self.layers = layers
        var first: [MiddlewarePlace: Int] = [:]
        for (index, layer) in layers.enumerated() where layer.place != .unplaced && first[layer.place] == nil { first[layer.place] = index }
        var rules: [Rule] = []
        // If two layers have the same place, only the rule of the outermost layer applies. For example, `events` around a call and around
        // each attempt is valid.
        var declared: Set<MiddlewareRule> = []
        for (index, layer) in layers.enumerated() {
            for neighbor in layer.neighbors {
                guard let wanted = neighbor.place, wanted != layer.place, let other = first[wanted] else { continue }
                let isRepeated = !declared.insert(MiddlewareRule(place: layer.place, neighbor: neighbor)).inserted
                if isRepeated, layer.place != .unplaced { continue }
                let (outer, inner) = neighbor.side == .outside ? (index, other) : (other, index)
                if !rules.contains(where: { $0.outer == outer && $0.inner == inner }) {
                    rules.append(Rule(outer: outer, inner: inner, reason: neighbor.reason))
                }
            }
        }
        self.rules = rules
        repetitions = Self.repetitions(layers, isSorted: isSorted)
    }

    private static func repetitions(_ layers: [HTTPStack.Layer], isSorted: Bool) -> [String] {
        var reported: Set<MiddlewarePlace> = []
        return layers.flatMap { layer -> [String] in
            let place = layer.place
            let same = layers.filter { $0.place == place && !$0.isConditional }
            guard place != .unplaced, same.count > 1 else { return [] }
            let isSortedTwice = isSorted && same.count(where: \.isAtItsPlace) > 1
            return layer.neighbors.compactMap { rule in
                guard rule.side == .once || (isSortedTwice && rule.side == .onceWhenSorted), reported.insert(place).inserted
                else { return nil }
                return "\(place) is outside another \(place): \(rule.reason)"
            }
        }
    }

    private struct MiddlewareRule: Hashable {
        let place: MiddlewarePlace
        let neighbor: MiddlewareNeighbor
    }

    /// A sentence for each rule that the stack breaks. Rules that no order can satisfy together are reported once, as a
    /// contradiction.
    var problems: [String] { repetitions + misorders }

    private var misorders: [String] {
        var contradictions: Set<Set<Rule>> = []
        return rules.compactMap { rule in
            guard !rule.isKept else { return nil }
            guard let others = path(from: rule.inner, to: rule.outer) else {
                return "\(name(rule.inner)) is outside \(name(rule.outer)): \(rule.reason)"
            }
            let circle = [rule] + others
            guard contradictions.insert(Set(circle)).inserted else { return nil }
            let sentences = circle.map { "\(name($0.outer)) must be outside \(name($0.inner)) (\($0.reason))" }
            return "rules contradict one another: \(sentences.joined(separator: ", "))"
        }
    }

    /// Returns the shortest chain of rules by which the layer `start` must be outside the layer `end`; `nil` if there is no such chain.
    private func path(from start: Int, to end: Int) -> [Rule]? {
        var paths: [Int: [Rule]] = [start: []]
        var queue = [start][...]
        while let next = queue.popFirst() {
            let path = paths[next] ?? []
            if next == end { return path }
            for rule in rules where rule.outer == next && paths[rule.inner] == nil {
                paths[rule.inner] = path + [rule]
                queue.append(rule.inner)
            }
        }
        return nil
    }

    private func name(_ index: Int) -> String {
        layers[index].place == .unplaced ? layers[index].label : layers[index].place.description
    }
}
