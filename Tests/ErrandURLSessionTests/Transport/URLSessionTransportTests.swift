internal import ErrandConformance
internal import TestSupport
internal import Testing

/// The transport over sockets. On Linux, the tests run one after the other, because `URLSession` there can't take much load.
@Suite(.serialized, .timeLimit(.minutes(5)))
struct URLSessionTransportTests {}
