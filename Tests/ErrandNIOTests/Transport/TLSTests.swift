#if SWIFT_NIO && MockServer
import ErrandCore
import ErrandMiddleware
import ErrandMockServer
import ErrandNIO
import ErrandTesting
import Foundation
import TestSupport
import Testing

extension NIOTransportTests {
    /// The TLS cases of the stand: what a server may do wrong, and what the transport says about it.
    @Suite(
        .timeLimit(.minutes(5)), .enabled(if: Suites.folder != nil, Comment(rawValue: Suites.missing)),
        .enabled(if: BadTLSServer.hasOpenSSL, "there is no openssl on this machine"),
        .enabled(if: BadTLSServer.hasPython, "there is no python3 on this machine"))
    struct TLSTests {
        private func settings(_ server: BadTLSServer) -> TLSSettings {
            var settings = TLSSettings()
            settings.extraRootsPEMFiles = [server.file("ca.pem")]
            return settings
        }

        private func get(_ url: String, _ settings: TLSSettings, connecting: Duration = .seconds(10)) async throws -> String {
            try await withNIO {
                $0.tls = settings
                $0.connectTimeout = connecting
            } _: { transport in
                let response = try await HTTPStack(transport).send(Request(.get, url: url))
                return String(decoding: try await response.body.collect(), as: UTF8.self)
            }
        }

        private func failure(
            _ url: String, _ settings: TLSSettings, connecting: Duration = .seconds(10)
        ) async throws -> TransportError {
            let begin = ContinuousClock.now
            let error = try await transportError { try await get(url, settings, connecting: connecting) }
            #expect(begin.duration(to: .now) < .seconds(4))
            return error
        }

        /// How a failed handshake with `localhost` ends its message.
        private func during(_ url: String) throws -> String {
            ", during the TLS handshake with 127.0.0.1:\(try HTTPURL(url).effectivePort)"
        }

        // MARK: - The cases of the stand

        @Test(arguments: ["good", "chain", "tls12only", "tls13only"])
        func aValidServerIsServed(name: String) async throws {
            let server = try await BadTLSServer.shared()
            #expect(try await get(server.url(name), settings(server)) == "ok")
        }

        @Test(arguments: ["localhost", "127.0.0.1", "a.test.localhost"])
        func theNameOrTheAddressIsVerified(host: String) async throws {
            let server = try await BadTLSServer.shared()
            let url = server.url("good", host: host)
            if host == "a.test.localhost", (try? await get(url, settings(server))) == nil { return }  // not every resolver knows it
            #expect(try await get(url, settings(server)) == "ok")
        }

        @Test(arguments: [
            ("wronghost", "the certificate is for another host, not for 'localhost'"),
            ("untrusted", "signed by an unknown authority"),
            ("untrusted", "may not sign for the certificate's names (tls.extraRootsPEMFiles can add an authority), during"),
            ("expired", "the certificate has expired: it was valid until Sat, 01 Feb 2020 00:00:00 GMT"),
            ("notyet", "the certificate is not valid yet: it is valid from Sun, 01 Jan 2045 00:00:00 GMT; check the clock"),
            ("selfsigned", "or by itself"),
            ("missing-chain", "or the server does not send its intermediate certificate"),
            ("tls10", "the server supports none of the allowed versions of TLS (tls.minimumVersion is TLS 1.2), during"),
            ("plain-on-tls", "not speak TLS"),  // its system may reset the connection before the response is read
        ])
        func aRefusalIsExplained(name: String, text: String) async throws {
            let server = try await BadTLSServer.shared()
            let error = try await failure(server.url(name), settings(server))
            #expect(error.code == .tls)
            #expect(error.phase == .connect)
            #expect(error.delivery == .notSent)
            #expect(error.message.contains(text), "\(error)")
            #expect(try error.message.contains(during(server.url(name))), "\(error)")
        }

        @Test(arguments: ["close-handshake", "rst-handshake"])
        func aConnectionThatEndsInTheHandshakeIsReported(name: String) async throws {
            let server = try await BadTLSServer.shared()
            let error = try await failure(server.url(name), settings(server))
            // The server has not read all that was sent: its system resets the connection in both cases.
            #expect(error.code == .cannotConnect || error.code == .tls, "\(error)")
            #expect(error.phase == .connect && error.delivery == .notSent)
            let parts = error.message.split(separator: try during(server.url(name)), omittingEmptySubsequences: false)
            #expect(parts.count == 2 && !parts.contains { $0.contains("handshake") }, "\(error)")
        }

        @Test func theErrorOfAPlainPortNamesTheMissingTLS() async throws {
            let server = try RawServer { connection in
                _ = try connection.read()
                try connection.write("HTTP/1.1 400 Bad Request\r\nContent-Length: 0\r\n\r\n")
                connection.waitForEnd()
            }
            defer { server.stop() }
            let error = try await failure(server.url(scheme: "https"), TLSSettings())
            #expect(error.code == .tls && error.delivery == .notSent)
            let text = "the other side does not speak TLS; the URL of a port without TLS begins with http://"
            #expect(error.message == text + ", during the TLS handshake with 127.0.0.1:\(server.port)")
        }

        @Test func aHandshakeThatHangsPassesTheLimit() async throws {
            let server = try await BadTLSServer.shared()
            let error = try await failure(server.url("hang-handshake"), settings(server), connecting: .milliseconds(700))
            #expect(error.code == .timedOut)
            #expect(error.phase == .connect && error.delivery == .notSent)
            let setting = "the limit connectTimeout is 700 ms, set by NIOTransport.Configuration"
            #expect(error.message.hasPrefix(setting + ", during the TLS handshake with "), "\(error)")
        }

        /// A body that is ended by the connection alone is whole only if TLS says so (RFC 9112, section 9.8).
        @Test func aBodyThatTLSDoesNotEndIsLostAfterItsLastByte() async throws {
            let server = try await BadTLSServer.shared()
            try await withNIO {
                $0.tls = settings(server)
            } _: { transport in
                let response = try await HTTPStack(transport).send(Request(.get, url: server.url("truncated")))
                var received = Data()
                let error = try await transportError { for try await chunk in response.body { received += chunk } }
                #expect(error.code == .connectionLost && error.phase == .body)
                #expect(error.message.hasPrefix("the connection ended without a close_notify (127.0.0.1:"))
                #expect(received == Data("partial body without close_notify".utf8))
            }
        }

        // MARK: - The client's certificate

        @Test(arguments: ["client", "badclient", nil])
        func theServerDecidesAboutTheClientsCertificate(name: String?) async throws {
            let server = try await BadTLSServer.shared()
            var settings = settings(server)
            settings.clientCertificate = name.map {
                .init(chainPEMFile: server.file("\($0).pem"), keyPEMFile: server.file("\($0).key"))
            }
            guard name != "client" else {
                #expect(try await get(server.url("mtls"), settings) == "ok")
                return
            }
            let error = try await failure(server.url("mtls"), settings)
            let text =
                name == nil ? "the server needs a client certificate" : "the server does not trust the authority of the client certificate"
            #expect(error.code == .tls)
            // With TLS 1.3, the server says so after the handshake.
            #expect(error.message.hasPrefix(text + ", during the TLS handshake with ") || error.message.hasPrefix(text + " ("))
        }

        @Test func theKeyMustBelongToTheCertificate() async throws {
            let server = try await BadTLSServer.shared()
            var configuration = NIOTransport.Configuration()
            configuration.tls.clientCertificate = .init(
                chainPEMFile: server.file("client.pem"), keyPEMFile: server.file("badclient.key"))
            let error = #expect(throws: TLSSettingsError.self) { try NIOTransport(configuration) }
            #expect(error?.code == .unreadableFile)
            #expect(error?.subject == server.file("badclient.key"))
            #expect(error?.message == "the private key does not belong to the certificate")
        }

        @Test func filesAreReadWhenTheTransportIsCreated() async throws {
            let server = try await BadTLSServer.shared()
            let (root, key) = (server.file("ca.pem"), server.file("client.key"))
            func refused(_ configure: (inout TLSSettings) -> Void) throws -> TLSSettingsError {
                var configuration = NIOTransport.Configuration()
                configure(&configuration.tls)
                return try #require(#expect(throws: TLSSettingsError.self) { try NIOTransport(configuration) })
            }
            let missing = try refused { $0.extraRootsPEMFiles = [root, "/nowhere/ca.pem"] }
            #expect(missing.code == .unreadableFile && missing.subject == "/nowhere/ca.pem")
            #expect(missing.message == "no such file or folder")
            let folder = try refused { $0.extraRootsPEMFiles = ["/"] }
            #expect(folder.message.contains("folder"), "\(folder)")
            let other = try refused { $0.extraRootsPEMFiles = [key] }
            #expect(other.code == .unreadableFile && other.subject == key)
            let noKey = try refused { $0.clientCertificate = .init(chainPEMFile: server.file("client.pem"), keyPEMFile: root) }
            #expect(noKey.code == .unreadableFile && noKey.subject == root)
            for error in [missing, other, noKey] { #expect(!"\(error)".contains("PRIVATE"), "\(error)") }
        }

        /// A name server must not decide who the other side is.
        @Test func aCertificateForAnAddressDoesNotMatchAName() async throws {
            let folder = try TestFolder("authority")
            let authority = try TestAuthority()
            try authority.writeCertificate(toPath: folder.file("authority.pem"))
            let stub = Stub(.get, "/").responds(.status(.ok))
            try await withMockServer(serving: [stub], .tls(try authority.certificate(), protocols: [.http1_1])) { server in
                let port = try #require(Request(.get, url: server.url("")).origin?.effectivePort)
                try await withNIO {
                    $0.tls.extraRootsPEMFiles = [folder.file("authority.pem")]
                    $0.resolver = try HostOverrides(["bank.example:\(port):127.0.0.1", "localhost:\(port):127.0.0.1"])
                } _: { transport in
                    let error = try await transportError {
                        _ = try await transport.send(Request(.get, url: "https://bank.example:\(port)/"))
                    }
                    #expect(error.code == .tls)
                    let text = "the certificate is for another host, not for 'bank.example'"
                    #expect(error.message == text + ", during the TLS handshake with 127.0.0.1:\(port)")
                    for host in ["localhost", "127.0.0.1"] {
                        let response = try await transport.send(Request(.get, url: "https://\(host):\(port)/"))
                        #expect(response.status == .ok)
                    }
                }
            }
        }

        // MARK: - Versions

        @Test func theMinimumVersionIsObeyed() async throws {
            let server = try await BadTLSServer.shared()
            var settings = settings(server)
            settings.minimumVersion = .tls13
            #expect(try await get(server.url("tls13only"), settings) == "ok")
            let error = try await failure(server.url("tls12only"), settings)
            let text = "the server supports none of the allowed versions of TLS (tls.minimumVersion is TLS 1.3)"
            #expect(try error.message == text + during(server.url("tls12only")), "\(error)")
        }

        @Test func concurrentConnectionsShareOneContext() async throws {
            let server = try await BadTLSServer.shared()
            try await withNIO {
                $0.tls = settings(server)
            } _: { transport in
                let url = server.url("good")
                try await withThrowingTaskGroup(of: Int.self) { group in
                    for _ in 0..<12 { group.addTask { try await transport.send(Request(.get, url: url)).body.collect().count } }
                    var count = 0
                    for try await bytes in group { count += bytes }
                    #expect(count == 24)
                }
            }
        }

        // MARK: - For tests alone

        @Test(arguments: ["untrusted", "expired", "selfsigned", "wronghost"])
        func anUncheckedHostMayHaveAnyCertificate(name: String) async throws {
            let server = try await BadTLSServer.shared()
            var settings = TLSSettings()
            settings.uncheckedHostsForTesting = try .hosts("LOCALHOST")
            #expect(try await get(server.url(name), settings) == "ok")
            let other = try await failure(server.url(name, host: "127.0.0.1"), settings)
            #expect(other.code == .tls)
            settings.uncheckedHostsForTesting = .loopback
            #expect(try await get(server.url(name, host: "127.0.0.1"), settings) == "ok")
        }

        @Test func aRedirectToAnotherHostIsChecked() async throws {
            try await withMockServer(.tls(try TestAuthority().certificate(), protocols: [.http1_1])) { server in
                server.dispatch { request in
                    request.path == "/" ? .redirect(to: "https://127.0.0.1:\(server.port)/there") : .text("there")
                }
                let unchecked = try TLSSettings.UncheckedHosts.hosts("localhost")
                try await withNIO {
                    $0.tls.uncheckedHostsForTesting = unchecked
                } _: { transport in
                    let there = try await transport.send(Request(.get, url: server.url("/there"))).body.collect()
                    #expect(there == Data("there".utf8))
                    let error = try await transportError {
                        try await transport.redirect().send(Request(.get, url: server.url("/")))
                    }
                    #expect(error.code == .tls)
                    #expect(error.message.contains("unknown authority"), "\(error)")
                }
            }
        }
    }
}
#endif
