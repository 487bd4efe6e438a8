#if SWIFT_NIO
internal import ErrandCore
internal import ErrandFormats

/// The fields of an upgrade in HTTP/1.1 ([RFC 9110, section 7.8](https://www.rfc-editor.org/rfc/rfc9110#section-7.8)).
extension UpgradeRequest {
    /// The reason why `request` can't ask for this protocol, in words; `nil` if the request can ask for this protocol.
    func problem(of request: Request) -> String? {
        guard request.body.isEmpty else { return "a request that changes the protocol can't have a body" }
        let parts = protocolName.utf8.split(separator: UInt8(ascii: "/"), omittingEmptySubsequences: false)
        let isProtocol = (1...2).contains(parts.count) && parts.allSatisfy { !$0.isEmpty && $0.allSatisfy(\.isTokenOctet) }
        return isProtocol ? nil : "the name of the protocol must be a token, with or without '/' and a version"
    }

    /// Returns a head that asks for this protocol. The head keeps the request's options of `Connection`, and replaces the request's
    /// `Upgrade`.
    func added(to head: HTTPRequest) -> HTTPRequest {
        var head = head
        head.headerFields[.upgrade] = protocolName
        let options = head.headerFields[.connection].flatMap { $0.isEmpty ? nil : $0 }
        var isListed = false
        if var options {
            options.withUTF8 { bytes in bytes.forEachListElement { if $0.isText("upgrade") { isListed = true } } }
        }
        if !isListed { head.headerFields[.connection] = (options.map { $0 + ", " } ?? "") + "Upgrade" }
        return head
    }

    /// Returns whether a 101 (Switching Protocols) names only this protocol, ignoring case.
    func isAccepted(by head: HTTPResponse) -> Bool {
        head.headerFields[.upgrade]?.isExactlyIgnoringCase(protocolName) ?? false
    }
}

/// An error for a change of the protocol that the request does not allow.
enum UnexpectedUpgrade: SafelyDescribedError, Equatable {
    case notRequested
    case otherProtocol(requested: String)

    var description: String {
        switch self {
        case .notRequested: "the server changed the protocol (101), but the request did not ask for a change"
        case .otherProtocol(let requested): "the server changed the protocol (101), but not to '\(requested)', which the request asks for"
        }
    }
}
#endif
