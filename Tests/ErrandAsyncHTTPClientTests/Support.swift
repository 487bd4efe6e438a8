#if AsyncHTTPClient
internal import Errand
internal import ErrandConformance
internal import ErrandTesting
internal import Foundation
internal import Synchronization
internal import TestSupport
internal import Testing

/// The transport against real servers. One test after the other: many of them look at the time that something takes.
@Suite(
    .serialized, .timeLimit(.minutes(5)), SharedServers(),
    .leavesNothingBehind(temporaryPrefixes: [TestFolder.prefix], inParallelRuns: false))
struct AsyncHTTPClientTransportTests {}
#endif
