#if SWIFT_NIO
/// A list of slots. The links between the slots are in a ``ChainLinks``.
struct Chain: Sendable {
    fileprivate(set) var first: Int?
    fileprivate(set) var last: Int?

    var isEmpty: Bool { first == nil }
}

/// The links between slots. A slot is in one chain at most.
struct ChainLinks: Sendable {
    private var nodes: [(previous: Int?, next: Int?)] = []

    func previous(_ slot: Int) -> Int? { nodes[slot].previous }

    mutating func append(_ slot: Int, to chain: inout Chain) {
        while nodes.count <= slot { nodes.append((nil, nil)) }
        nodes[slot] = (chain.last, nil)
        if let last = chain.last { nodes[last].next = slot } else { chain.first = slot }
        chain.last = slot
    }

    mutating func remove(_ slot: Int, from chain: inout Chain) {
        let (previous, next) = nodes[slot]
        if let previous { nodes[previous].next = next } else { chain.first = next }
        if let next { nodes[next].previous = previous } else { chain.last = previous }
    }
}
#endif
