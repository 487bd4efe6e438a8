@testable import ErrandCore

// The messages of Linux about interfaces, addresses and routes.

let netlinkTargets = [Target("netlink", netlink)]

private func netlink(_ input: inout Input) {
    let requiresDefaultRoute = input.byte() & 1 == 0
    let octets = input.bytes()
    let (messages, isDamaged) = NetlinkMessage.read(octets)
    // The header of each message has 16 octets.
    expect(messages.count * 16 <= octets.count, "\(messages.count) messages in \(octets.count) octets")
    expect(isDamaged || !messages.isEmpty || octets.isEmpty, "the octets are neither messages nor damaged")
    var snapshot = NetlinkSnapshot(requiresDefaultRoute: requiresDefaultRoute)
    var hasRoute = false
    for message in messages {
        if case .route(let route) = message.content { hasRoute = hasRoute || !route.hops.isEmpty }
        if case .link(let link) = message.content {
            expect(link.name.utf8.count <= octets.count * 3 && !link.name.utf8.contains(0), "the name \(link.name)")
        }
        snapshot.add(message.content)
        _ = snapshot.isAffected(by: message.content)
    }
    expect(!snapshot.path.isSatisfied || hasRoute, "a path without a route")
    // Messages with a multiple of 4 octets are read alike in one datagram and in two.
    guard !isDamaged, octets.count % 4 == 0 else { return }
    let twice = NetlinkMessage.read(octets + octets)
    expect(!twice.isDamaged && twice.messages == messages + messages, "two datagrams are not read as one")
}
