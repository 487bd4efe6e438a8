internal import ClientHarness

/// Measures Errand, AsyncHTTPClient and handlers of SwiftNIO. `Measuring/peers.py` has the names of the clients.
@main
struct ClientBenchmarks {
    static func main() { Harness.main(makePeer) }

    private static func makePeer(_ name: String, _ setting: Setting) throws -> (any Peer)? {
        let parts = name.split(separator: "-")
        let onLoop = parts.contains("loop")
        switch parts.first {
        case "bare": return try BarePeer(setting)
        case "awaited": return try AwaitedPeer(setting, onLoop: onLoop)
        case "ahc": return try AsyncHTTPClientPeer(setting, onLoop: onLoop)
        case "nio", "memory":
            guard let entry = parts.dropFirst().first.flatMap({ ErrandPeer.Entry(rawValue: String($0)) }) else { return nil }
            switch parts[0] {
            case "nio": return try ErrandPeer.overNIO(entry, setting, onLoop: onLoop)
            default: return try ErrandPeer.inMemory(entry, setting)
            }
        default: return nil
        }
    }
}
