import ArgumentParser
import Errand

extension RequestArguments {
    /// The arguments with which curl connects and transfers as this command does, without the password of a proxy, and without the
    /// arguments for the output.
    ///
    /// Curl sends a body again after most redirects, and retries every method. This command does neither. So the text has `--location`
    /// only for GET and HEAD, and `--retry` only for idempotent methods. Curl does not compress bodies: it sends the body of
    /// `--compress-body` uncompressed. Curl does not wait for a network either.
    ///
    /// - Throws: `ValidationError` for settings that can't be understood.
    func curlArguments(for request: Request) throws -> [String] {
        let url = try httpURL()
        _ = try hostOverrides()
        _ = try proxyPolicy(environment: [:])
        var arguments: [String] = []
        func add(_ name: String, _ value: String?) {
            if let value { arguments += [name, value] }
        }
        if connection.followsRedirects, [.get, .head].contains(request.method) {
            arguments += ["--location", "--max-redirs", "\(connection.maxRedirects)"]
            // Curl can't refuse only the redirects from https to http. An http URL may be redirected to another http URL.
            if url.scheme == "https", !connection.allowsDowngrade { arguments += ["--proto-redir", "=https"] }
        }
        add("--hsts", connection.hsts.map(Self.curlPath))
        for file in content.cookieFiles { add("--cookie", Self.curlCookieFile(file)) }
        if request.options.givenCookies != nil { add("--cookie", "\(Sensitivity.urlPlaceholder)=\(Sensitivity.urlPlaceholder)") }
        add("--cookie-jar", content.cookieJar.map(Self.curlOutputPath))
        if connection.retry > 0, request.method.isIdempotent {
            add("--retry", "\(connection.retry)")
            // Older versions of curl read only whole seconds.
            add("--retry-delay", connection.retryDelay.map { $0.rounded(.up).shortText })
        }
        add("--max-time", connection.maxTime?.shortText)
        add("--connect-timeout", connection.connectTimeout?.shortText)
        if let text = connection.proxy {
            let proxy = text.isEmpty ? nil : try Self.proxy(text)
            add("--proxy", proxy.map(Self.curlText) ?? "")
            // Curl trusts other authorities for a proxy.
            if proxy?.kind == .https { add("--proxy-cacert", connection.cacert.map(Self.curlPath)) }
        }
        add("--noproxy", connection.noProxy)
        if connection.proxyUser != nil { add("--proxy-user", Self.shownUser) }
        if connection.proxyBasic {
            arguments.append("--proxy-basic")
        } else if connection.proxyAnyAuth {
            arguments.append("--proxy-anyauth")
        } else if connection.proxyDigest {
            arguments.append("--proxy-digest")
        }
        for entry in connection.resolve { add("--resolve", entry) }
        add("--unix-socket", connection.unixSocket.map(Self.curlPath))
        add("--cacert", connection.cacert.map(Self.curlPath))
        add("--cert", connection.cert.map(Self.curlPath).map(Self.curlCertificate))
        add("--key", connection.key.map(Self.curlPath))
        if connection.insecure { arguments.append("--insecure") }
        if connection.http1 {
            arguments.append("--http1.1")
        } else if connection.http2PriorKnowledge {
            arguments.append("--http2-prior-knowledge")
        } else if connection.http2, url.scheme == "https" {
            // Without TLS, curl would ask the server to upgrade to it.
            arguments.append("--http2")
        }
        if who.login != nil { arguments += ["--oauth2-bearer", Sensitivity.urlPlaceholder] }
        if who.digest || who.anyAuth || who.awsSigV4 != nil {
            if who.digest { arguments.append("--digest") }
            if who.anyAuth { arguments.append("--anyauth") }
            add("--aws-sigv4", who.awsSigV4)
            arguments += ["--user", Self.shownUser]
        }
        if content.compressed { arguments.append("--compressed") }
        return arguments
    }

    /// The placeholders that are shown for a user and a password.
    private static let shownUser = "\(Sensitivity.urlPlaceholder):\(Sensitivity.urlPlaceholder)"

    private static func curlText(_ proxy: ProxySettings) -> String {
        // With `socks5h`, curl lets the proxy resolve the name of the host, as this command does.
        let scheme = proxy.kind == .http ? "http" : proxy.kind == .https ? "https" : "socks5h"
        let host = proxy.host.contains(":") && !proxy.host.hasPrefix("[") ? "[\(proxy.host)]" : proxy.host
        return "\(scheme)://\(proxy.credentials == nil ? "" : shownUser + "@")\(host):\(proxy.port)"
    }

    /// Adds `./` to a path that begins with a dash, because curl would take it for an option.
    private static func curlPath(_ path: String) -> String { path.hasPrefix("-") ? "./\(path)" : path }

    /// The path of a file to write. A single dash is standard output.
    private static func curlOutputPath(_ path: String) -> String { path == "-" ? path : curlPath(path) }

    /// The path of a file of cookies. Curl takes a text with `=` for cookies, unless `@` is before the text.
    private static func curlCookieFile(_ path: String) -> String {
        path.contains("=") || path.hasPrefix("@") ? "@\(path)" : curlOutputPath(path)
    }

    /// The path of a certificate for curl, which takes the text after a colon for a password.
    private static func curlCertificate(_ path: String) -> String {
        path.replacing("\\", with: "\\\\").replacing(":", with: "\\:")
    }
}
