public import ErrandCore

/// Changes the protocol. The exchange continues.
public struct UpgradingSender: HTTPSender {
    private struct Stream: DuplexStream {
        var incoming: any BodySource { ScriptedBodySource(then: .stall) }
        func write(_ data: Data) async throws {}
        func finishWriting() async throws {}
        func close() {}
    }

    public init() {}

    public func send(_ request: Request) async throws -> Response {
        Response(
            head: HTTPResponse(status: .switchingProtocols), body: ResponseBody(), request: request, exchange: ExchangeLifetime(),
            upgrade: Stream())
    }
}
