import ArgumentParser
import AsyncHTTPClient
import Errand
import ErrandNIO
import Foundation
import NIOCore
import NIOSSL

extension RequestArguments {
    /// - Parameter narration: learns which version of HTTP a connection speaks.
    /// - Throws: `ValidationError` for settings that can't be understood, and for files that can't be read.
    func transport(narration: Narration? = nil) throws -> any HTTPTransport {
        let url = try httpURL()
        if connection.insecure, url.scheme == "https", !LoopbackGuard.isLoopback(url.host) {
            throw ValidationError(LoopbackGuard.advice(host: url.host, port: url.effectivePort))
        }
        if let path = connection.unixSocket { return try transport(overUnixSocket: path) }
        var configuration = AsyncHTTPClientTransport.Configuration()
        configuration.connectTimeout = .seconds(connection.connectTimeout ?? 10)
        configuration.allowsHTTP2 = !connection.http1
        configuration.decompresses = content.compressed
        configuration.tls = tls
        configuration.proxy = try connection.proxy.map(Self.proxy)
        let addresses = try resolvedAddresses(for: url)
        let trustsAny = connection.insecure
        configuration.customize = { settings in
            settings.dnsOverride = addresses
            if trustsAny { settings.tlsConfiguration?.certificateVerification = .none }
            guard let narration else { return }
            settings.http1_1ConnectionDebugInitializer = { channel in
                narration.opened("1.1")
                return channel.eventLoop.makeSucceededVoidFuture()
            }
            settings.http2ConnectionDebugInitializer = { channel in
                narration.opened("2")
                return channel.eventLoop.makeSucceededVoidFuture()
            }
        }
        return try withReadableCertificates { try AsyncHTTPClientTransport(configuration) }
    }

    private func transport(overUnixSocket path: String) throws -> NIOTransport {
        var configuration = NIOTransport.Configuration()
        configuration.connectTimeout = .seconds(connection.connectTimeout ?? 10)
        configuration.tls = tls
        configuration.unixSocketPath = path
        return try withReadableCertificates { try NIOTransport(configuration) }
    }

    private var tls: TLSSettings {
        var tls = TLSSettings()
        if let cacert = connection.cacert { tls.extraRootsPEMFiles = [cacert] }
        if let cert = connection.cert, let key = connection.key {
            tls.clientCertificate = .init(chainPEMFile: cert, keyPEMFile: key)
        }
        return tls
    }

    private func withReadableCertificates<Transport>(_ make: () throws -> Transport) throws -> Transport {
        do {
            return try make()
        } catch let error as UnusableSettingError where error.setting == "unixSocketPath" {
            throw ValidationError("--unix-socket can't be used: \(error.reason)")
        } catch {
            throw ValidationError("a certificate or a key can't be read: \(error)")
        }
    }

    /// - Throws: `ValidationError` for a proxy that is not supported.
    static func proxy(_ text: String) throws -> ProxySettings {
        guard let parts = URLComponents(string: absolute(text)), let host = parts.host, !host.isEmpty else {
            throw ValidationError("--proxy must be a URL")
        }
        switch parts.scheme {
        case "http":
            let credentials = parts.user.map { (user: $0, password: parts.password ?? "") }
            return .http(host: host, port: parts.port ?? 1080, credentials: credentials)
        case "socks5", "socks5h":
            guard parts.user == nil else { throw ValidationError("a SOCKS proxy with a password is not supported yet") }
            return .socks5(host: host, port: parts.port ?? 1080)
        case let scheme: throw ValidationError("--proxy must be an http or socks5 URL (is '\(scheme ?? "")')")
        }
    }

    /// The addresses of `--resolve`, by host: of several in one entry, the first, because the transport takes one. Of entries for the URL's own host, those for another port are left out; the transport tells
    /// hosts apart, and not ports.
    ///
    /// - Throws: `ValidationError` for an entry that can't be understood.
    func resolvedAddresses(for url: HTTPURL) throws -> [String: String] {
        var addresses: [String: String] = [:]
        for entry in connection.resolve {
            let parts = entry.split(separator: ":", maxSplits: 2, omittingEmptySubsequences: false).map(String.init)
            guard parts.count == 3, !parts[0].isEmpty, let port = UInt16(parts[1]), port > 0 else {
                throw ValidationError("--resolve must be HOST:PORT:ADDRESS (is '\(entry.shownSafely())')")
            }
            let list = parts[2].split(separator: ",", omittingEmptySubsequences: false).map { text in
                String(text.hasPrefix("[") && text.hasSuffix("]") ? text.dropFirst().dropLast() : text)
            }
            guard let address = list.first, list.allSatisfy({ (try? SocketAddress(ipAddress: $0, port: Int(port))) != nil }) else {
                throw ValidationError(
                    "--resolve must have IP addresses at its end, with commas between them (is '\(parts[2].shownSafely())')")
            }
            let host = parts[0].lowercased()
            guard host != url.host || Int(port) == url.effectivePort else { continue }
            guard addresses.updateValue(address, forKey: host) ?? address == address else {
                throw ValidationError("--resolve has more than one address for \(host.shownSafely())")
            }
        }
        return addresses
    }
}

/// Keeps `--insecure` to this machine, whatever a redirect says.
struct LoopbackGuard: HTTPMiddleware {
    func send(_ request: Request, to next: some HTTPSender) async throws -> Response {
        if let url = request.url, url.scheme == "https", !Self.isLoopback(url.host) {
            throw UnverifiedHost(description: "\(request): \(Self.advice(host: url.host, port: url.effectivePort))")
        }
        return try await next.send(request)
    }

    /// Nothing was sent: the certificate of this host has to be checked.
    struct UnverifiedHost: Error, CustomStringConvertible { let description: String }

    static func isLoopback(_ host: String) -> Bool {
        if host == "localhost" || host == "[::1]" { return true }
        let parts = host.split(separator: ".", omittingEmptySubsequences: false).map { UInt8($0) }
        return parts.count == 4 && parts.allSatisfy { $0 != nil } && parts.first == 127
    }

    static func advice(host: String, port: Int) -> String {
        """
        --insecure trusts any certificate, and does so only for localhost, 127.0.0.1 and [::1]. For \(host), name the \
        certificate of its authority with --cacert FILE. To see what the server presents: \
        openssl s_client -connect \(host):\(port) -showcerts </dev/null
        """
    }
}
