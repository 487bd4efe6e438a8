#if NIO
import ErrandConformance
import ErrandCore
import ErrandNIO
import TestSupport
import Testing

/// What opens sockets. One test after the other, and none leaves a connection, an exchange or a file behind.
@Suite(
    .serialized, .timeLimit(.minutes(5)), SharedServers(badTLS: true, proxies: true),
    .leavesNothingBehind(temporaryPrefixes: [TestFolder.prefix], inParallelRuns: false))
enum NIOTransportTests {}

/// `#expect` for calls that change a value, which the macro can't take apart.
func expect(_ value: Bool, sourceLocation: SourceLocation = #_sourceLocation) { #expect(value, sourceLocation: sourceLocation) }

/// `#require` for calls that change a value.
func require<Value>(_ value: Value?, sourceLocation: SourceLocation = #_sourceLocation) throws -> Value {
    try #require(value, sourceLocation: sourceLocation)
}

extension RawServer {
    /// Responds `ok` to each request, immediately or as soon as `mayRespond` is true.
    static func ok(when mayRespond: Watched<Bool>? = nil) throws -> RawServer {
        try responding { connection, _, _ in
            try mayRespond?.waitBlocking { $0 }
            try connection.respond(body: Data("ok".utf8))
        }
    }
}
#endif
