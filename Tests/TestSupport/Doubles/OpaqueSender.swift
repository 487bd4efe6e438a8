public import ErrandCore

/// A sender that is neither a stack nor a transport: its layers can't be seen from outside.
public struct OpaqueSender: HTTPSender {
    private let base: any HTTPSender

    public init(_ base: any HTTPSender) { self.base = base }

    public func send(_ request: Request) async throws -> Response { try await base.send(request) }
}
