#if NIO
import ErrandNIO
import Testing

#if !os(iOS) && !os(tvOS) && !os(watchOS) && !os(visionOS)
@Suite(.timeLimit(.minutes(5))) struct NIOConfigurationTests {
    @Test func negativeTimesAreRefused() async {
        let idle = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
            var configuration = NIOTransport.Configuration()
            configuration.idleTimeout = .seconds(-1)
            _ = try NIOTransport(configuration)
        }
        let text = String(decoding: idle?.standardErrorContent ?? [], as: UTF8.self)
        #expect(text.contains("idleTimeout must be at least zero (is -1.0 seconds)"))
        let age = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
            var configuration = NIOTransport.Configuration()
            configuration.maxConnectionAge = .seconds(-1)
            _ = try NIOTransport(configuration)
        }
        let ageText = String(decoding: age?.standardErrorContent ?? [], as: UTF8.self)
        #expect(ageText.contains("maxConnectionAge must be at least zero (is -1.0 seconds)"))
    }
}
#endif
#endif
