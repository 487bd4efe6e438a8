import ArgumentParser
import Errand
import ErrandNIO
import Foundation

extension RequestArguments {
    /// - Throws: `ValidationError` for settings that can't be understood, and for files that can't be read.
    ///
    /// - Parameter uncheckedHosts: the hosts whose certificates `--insecure` does not check. By default, the host of the URL.
    func transport(uncheckedHosts: [String]? = nil) throws -> NIOTransport {
        let url = try httpURL()
        var configuration = NIOTransport.Configuration()
        configuration.connectTimeout = .seconds(connection.connectTimeout ?? 10)
        configuration.allowsHTTP2 = !connection.http1
        configuration.usesHTTP2WithoutTLS = connection.http2PriorKnowledge
        configuration.unixSocketPath = connection.unixSocket
        if let count = connection.maxHeaderBytes { configuration.responseLimits.headBytes = count }
        if let count = connection.maxHeaderCount { configuration.responseLimits.fieldCount = count }
        try checkCertificate()
        if let cacert = connection.cacert { configuration.tls.extraRootsPEMFiles = [cacert] }
        if let cert = connection.cert, let key = connection.key {
            configuration.tls.clientCertificate = .init(chainPEMFile: cert, keyPEMFile: key)
        }
        if connection.insecure {
            for host in uncheckedHosts ?? [url.host] {
                let unchecked = Loopback.contains(host) ? TLSSettings.UncheckedHosts.loopback : try .hosts(host)
                configuration.tls.uncheckedHostsForTesting = configuration.tls.uncheckedHostsForTesting.union(unchecked)
            }
        }
        if !connection.resolve.isEmpty { configuration.resolver = try hostOverrides() }
        configuration.proxy = try proxyPolicy()
        do {
            return try NIOTransport(configuration)
        } catch let error as UnusableSettingError {
            let option = ["unixSocketPath": "--unix-socket", "proxy": "--proxy"][error.setting] ?? error.setting
            throw ValidationError("\(option) can't be used: \(error.reason)")
        } catch let error as TLSSettingsError {
            // The error of the library shows the subject alone.
            let options = [("--cacert", connection.cacert), ("--cert", connection.cert), ("--key", connection.key)]
            let option = options.first { $0.1?.shownSafely() == error.subject }?.0
            throw ValidationError("\(option.map { "\($0): " } ?? "")'\(error.subject)': \(error.message)")
        } catch {
            throw ValidationError("a certificate or a key can't be read: \(error)")
        }
    }

    /// Refuses a colon in the path of a certificate, because curl takes the text after a colon for the password of the key.
    private func checkCertificate() throws {
        guard let path = connection.cert, path.containsOctet(UInt8(ascii: ":")), !FileManager.default.fileExists(atPath: path) else {
            return
        }
        throw ValidationError("--cert: there is no such file. A password after ':' is not supported; use a key without one")
    }

    /// The addresses of `--resolve`. In curl, a plus before an entry lets the entry expire. The command ignores the plus, because no
    /// entry expires within one command.
    ///
    /// - Throws: `ValidationError` for an entry that can't be understood.
    func hostOverrides() throws -> HostOverrides {
        do {
            return try HostOverrides(connection.resolve.map { $0.hasPrefix("+") ? String($0.dropFirst()) : $0 })
        } catch {
            throw ValidationError("--resolve must be HOST:PORT:ADDRESS[,ADDRESS]… (is '\(error.text)': \(error.reason))")
        }
    }
}

extension RequestArguments {
    /// The warning about a server that `--insecure` does not check. If all servers are checked, or the server is on this machine, it is
    /// `nil`.
    var insecureWarning: String? {
        // Without TLS, a redirect can lead to TLS.
        guard connection.insecure, let url = try? httpURL(), !Loopback.contains(url.host),
            url.scheme == "https" || connection.followsRedirects
        else { return nil }
        return """
            warning: the certificate of \(url.host.shownSafely()) is not checked (-k), so the server is not authenticated: others on the \
            network can read and change what is exchanged. To check it, name the certificate of its authority with --cacert FILE
            """
    }
}

/// The hosts of this machine.
enum Loopback {
    static func contains(_ host: String) -> Bool {
        if host == "localhost" || host == "[::1]" { return true }
        let parts = host.split(separator: ".", omittingEmptySubsequences: false).map { UInt8($0) }
        return parts.count == 4 && parts.allSatisfy { $0 != nil } && parts.first == 127
    }
}
