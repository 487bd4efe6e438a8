#if SWIFT_NIO && MockServer
internal import ErrandConformance
internal import TestSupport
internal import Testing

/// Every transport with sockets, against real servers. The tests run one after the other, because many of them measure time.
@Suite(
    TestedOverURLSession(), .serialized, .timeLimit(.minutes(5)), SharedServers(),
    .leavesNothingBehind(
        ignoring: TestedTransport.outlivingDescriptors, temporaryPrefixes: [TestFolder.prefix], inParallelRuns: false))
struct TransportTests {}
#endif
