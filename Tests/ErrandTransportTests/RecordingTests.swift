#if SWIFT_NIO && MockServer
internal import Errand
internal import ErrandTesting
internal import Foundation
internal import TestSupport
internal import Testing

@testable internal import ErrandRecording

extension TransportTests {
    /// What a transport tells of its connections, as a recording has it.
    @Suite
    struct RecordingTests {
        /// The transport over SwiftNIO reports the steps of connecting, others only that there is a connection.
        @Test(.enabled(if: NginxServer.isHere, Comment(rawValue: NginxServer.missing)), arguments: TestedTransport.allCases)
        func onlyANewConnectionHasConnectingTimes(by tested: TestedTransport) async throws {
            let server = try await NginxServer.shared()
            let folder = try TestFolder("recording")
            let recording = try Recording(atPath: folder.file("a.har"), mode: .all, keepsUnknownText: true)
            try await tested.run {
                $0.tls.extraRootsPEMFiles = [server.certificates.authority]
                $0.allowsHTTP2 = false
            } _: { transport in
                let stack = HTTPStack(transport).record(on: recording)
                for _ in 0..<2 {
                    let request = try Request(.get, url: server.url("/small", .tls, host: "localhost")).within(.seconds(20))
                    _ = try await stack.send(request).body.collect()
                }
            }
            try recording.save()
            if await HARValidator.isHere() { try await HARValidator.validate(folder.file("a.har")) }
            let entries = try HARLog(fileContent: folder.read("a.har")).entries
            #expect(entries.count == 2)
            for entry in entries {
                let (times, all) = (entry.timings, [entry.timings.blocked, entry.timings.dns, entry.timings.connect])
                let sum = all.reduce(times.send + times.wait + times.receive) { $0 + max(0, $1 ?? 0) }
                #expect(abs(sum - entry.time) < 0.0001)
            }
            let (new, reused) = (try #require(entries.first).timings, try #require(entries.last).timings)
            #expect(reused.dns == -1 && reused.connect == -1 && reused.ssl == -1)
            #expect(try #require(reused.blocked) >= 0)
            if tested == .nio {
                let (dns, connect, tls) = try (#require(new.dns), #require(new.connect), #require(new.ssl))
                #expect(dns >= 0 && tls > 0 && connect > tls)
                #expect(try #require(new.blocked) >= 0)
            } else {
                #expect(new.dns == -1 && new.connect == -1 && new.ssl == -1)
                #expect(try #require(new.blocked) > 0)
            }
        }
    }
}
#endif
