#if SWIFT_NIO && MockServer
import ErrandCore
import ErrandNIO
import ErrandTesting
import Foundation
import TestSupport
import Testing

extension NIOTransportTests {
    /// Responses of a server that makes mistakes at random.
    @Suite(.timeLimit(.minutes(5))) struct MutatedResponseTests {
        /// Responses with octets changed, left out, doubled, cut off: each is read or refused, and none hangs or ends the process.
        @Test(arguments: [UInt64(1), 2, 3])
        func mutatedResponsesDoNoHarm(seed: UInt64) async throws {
            let whole = [
                "HTTP/1.1 200 OK\r\nContent-Length: 5\r\nX-A: b\r\n\r\nwhole",
                "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3;x=y\r\nwho\r\n2\r\nle\r\n0\r\nX-T: x\r\n\r\n",
                "HTTP/1.1 103 Early\r\nLink: <a>\r\n\r\nHTTP/1.1 204 No Content\r\n\r\n",
                "HTTP/1.0 302 Found\r\nLocation: /\r\n\r\nelsewhere",
            ].map { Array($0.utf8) }
            let generator = Watched(SeededGenerator(seed: seed))
            let server = try RawServer { connection in
                try connection.readHead()
                let bytes = Watched([UInt8]())
                generator.change { generator in
                    var mutated = whole.randomElement(using: &generator) ?? []
                    for _ in 0..<Int.random(in: 1...3, using: &generator) where !mutated.isEmpty {
                        let place = Int.random(in: 0..<mutated.count, using: &generator)
                        switch Int.random(in: 0..<5, using: &generator) {
                        case 0: mutated[place] = UInt8.random(in: 0...255, using: &generator)
                        case 1: mutated[place] = Array("0123456789\r\n :;".utf8).randomElement(using: &generator) ?? 0
                        case 2: mutated.remove(at: place)
                        case 3: mutated.insert(mutated[place], at: place)
                        default: mutated.removeSubrange(place...)
                        }
                    }
                    let result = mutated
                    bytes.change { $0 = result }
                }
                try connection.write(bytes.value)
            }
            defer { server.stop() }
            try await withNIO { transport in
                var (read, failed) = (0, 0)
                for _ in 0..<300 {
                    do {
                        let request = try Request(.get, url: server.url()).within(.seconds(5))
                        _ = try await transport.send(request).body.collect()
                        read += 1
                    } catch let failure as TransportError {
                        #expect([.invalidResponse, .connectionLost].contains(failure.code), "\(failure)")
                        failed += 1
                    }
                }
                #expect(read > 0 && failed > 0)
            }
        }
    }
}
#endif
