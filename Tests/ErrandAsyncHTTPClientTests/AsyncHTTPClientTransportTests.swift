#if AsyncHTTPClient
internal import ErrandConformance
internal import TestSupport
internal import Testing

/// The transport over AsyncHTTPClient alone. The tests run one after the other, because many of them measure time. What holds for every
/// transport is in ErrandTransportTests.
@Suite(
    .serialized, .timeLimit(.minutes(5)), SharedServers(),
    .leavesNothingBehind(temporaryPrefixes: [TestFolder.prefix], inParallelRuns: false))
struct AsyncHTTPClientTransportTests {}
#endif
