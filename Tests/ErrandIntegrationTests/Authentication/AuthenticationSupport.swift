#if SWIFT_NIO && Auth
internal import Errand
internal import Foundation
internal import TestSupport
internal import Testing

/// One exchange of a call: the credentials of the request, and the status and the challenges of the response.
struct Exchanged: Sendable {
    let authorization: String?
    let status: HTTPResponse.Status
    let challenges: [AuthenticationChallenge]

    /// A parameter of the credentials, which are those of Digest.
    func part(_ name: String) -> String? { authorization.flatMap { AuthenticationChallenge.parse([$0]).first?[name] } }
}

/// Records each exchange, in the order of the responses.
struct RecordingExchangeMiddleware: HTTPMiddleware {
    let log = Watched<[Exchanged]>([])

    var place: MiddlewarePlace { .unplaced }

    func send(_ request: Request, to next: some HTTPSender) async throws -> Response {
        let response = try await next.send(request)
        let noted = Exchanged(
            authorization: request.headers[.authorization], status: response.status,
            challenges: AuthenticationChallenge.parse(response.head.headerFields[values: .wwwAuthenticate]))
        log.change { $0.append(noted) }
        return response
    }
}

/// Runs `body` with a stack over a transport of its own.
///
/// - Parameter certificate: the path of a further authority.
func withWire<Result>(
    certificate: String? = nil, connections: Int? = nil, _ body: (HTTPStack, Watched<[Exchanged]>) async throws -> Result
) async throws -> Result {
    let tap = RecordingExchangeMiddleware()
    var configuration = NIOTransport.Configuration()
    if let certificate { configuration.tls.extraRootsPEMFiles = [certificate] }
    if let connections { configuration.maxConnectionsPerOrigin = connections }
    return try await withTransport(try NIOTransport(configuration)) { transport in
        try await body(transport.timeout(.seconds(20)).wrapped(by: tap), tap.log)
    }
}

extension HTTPSender {
    /// The status, and why a challenge was returned. The body is read.
    func outcome(of request: Request) async throws -> (status: HTTPResponse.Status, stop: AuthenticationStop?) {
        let response = try await send(request)
        _ = try await response.body.collect()
        return (response.status, response.metadata.authenticationStop)
    }
}
#endif
