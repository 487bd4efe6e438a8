/// Decides which transfers begin: the next in their order, but only so many at the same time, and so many for an origin.
struct TransferQueue: Sendable {
    static let limit = 4
    static let limitOfOrigin = 2

    private var waiting: [(number: Int, origin: String)]
    private var running: [Int: String] = [:]

    /// - Parameter origins: the origin of each transfer.
    init(_ origins: [String]) { waiting = Array(origins.enumerated()).map { ($0.offset, $0.element) } }

    /// The numbers of the transfers that begin now.
    mutating func next() -> [Int] {
        var begun: [Int] = []
        while running.count < Self.limit, let index = waiting.firstIndex(where: { hasRoom($0.origin) }) {
            let transfer = waiting.remove(at: index)
            running[transfer.number] = transfer.origin
            begun.append(transfer.number)
        }
        return begun
    }

    private func hasRoom(_ origin: String) -> Bool { running.values.count { $0.isExactly(origin) } < Self.limitOfOrigin }

    /// Ends a transfer.
    mutating func end(_ number: Int) { running[number] = nil }
}
