#if MockServer && SWIFT_NIO
import Testing

/// Faults over real sockets. One test after the other: some of them look at the time that something takes.
@Suite(.serialized, .timeLimit(.minutes(5)))
struct IntegrationTests {}
#endif
