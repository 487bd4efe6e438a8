#if MockServer && SWIFT_NIO
import ErrandNIO
import ErrandCore
import ErrandMockServer
import Foundation
import TestSupport
import Testing

/// The mock server over real sockets. One test after the other: some of them look at the time that something takes.
@Suite(.serialized, .timeLimit(.minutes(5)))
struct MockServerTests {}

/// Returns the output of `curl`.
func curl(_ arguments: String...) async throws -> String {
    let path = try #require(Programs.find("curl"))
    return try await Programs.run(path, ["--silent", "--show-error", "--max-time", "20", "--noproxy", "*"] + arguments)
}

let haveCurl = Programs.find("curl") != nil
#endif
