import Errand
import Foundation

/// The line for a failure: what happened, where, whether the request was sent, and what to do next.
struct FailureAdvice {
    private let arguments: RequestArguments
    private let isOfTransfer: Bool

    /// - Parameter isOfTransfer: whether the command continues a response that is incomplete.
    init(_ arguments: RequestArguments, isOfTransfer: Bool = false) { (self.arguments, self.isOfTransfer) = (arguments, isOfTransfer) }

    func line(for error: any Error) -> String {
        // The library names its own settings. The advice names the options of this command.
        var text = ((error as? any RequestFailure).map { description(of: $0) } ?? "\(error)")
            .replacing(" (tls.extraRootsPEMFiles can add an authority)", with: "")
            .replacing(" (RedirectPolicy(allowsDowngrade: true) follows it)", with: "")
            .replacing(", set by NIOTransport.Configuration", with: "")
            .replacing("the limit connectTimeout is", with: "the limit of --connect-timeout is")
        text = withMaxTime(text)
        return advice(for: error).map { "\(text). \($0)" } ?? text
    }

    /// The description of a failure, with joined attempts, and with the options of the command in the reason for the end of the retries.
    private func description(of failure: any RequestFailure) -> String {
        var last = failure
        (last.attempts, last.retryStop) = ([], nil)
        let text = last.description
        let groups = AttemptGroup.groups(of: failure.attempts, last: text, request: failure.request)
        let reason = failure.request.flatMap { failure.retryStop?.reason(for: $0) }
        return text + groups.map { "; \($0)" }.joined() + (reason.map { "; no further attempt: \($0)" } ?? "")
    }

    private static let moreRedirects = "Allow more redirects with --max-redirs, or show their targets with -v"

    /// The text with the option `--max-time` in place of the setting of the library.
    private func withMaxTime(_ text: String) -> String {
        guard let seconds = arguments.connection.maxTime?.shortText else { return text }
        return text.replacing("the deadline of the request passed", with: "--max-time \(seconds) s passed")
            .replacing(#/the limit timeout is [^,]*, set by \.timeout/#, with: "--max-time \(seconds) s passed")
    }

    private func advice(for error: any Error) -> String? {
        if let error = error as? RedirectError {
            return switch error.failureNumber {
            case .tooManyRedirects where arguments.content.usesCookieJar: Self.moreRedirects
            case .tooManyRedirects: "\(Self.moreRedirects). If the server sets a cookie, send the cookie back with -b ''"
            case .redirectDowngrade: "Follow it with --allow-downgrade. Others on the network can then read what is exchanged"
            case .redirectLoop: "Show the targets with -v"
            default: nil
            }
        }
        if isOfTransfer, let advice = transferAdvice(for: error) { return advice }
        guard let error = error as? TransportError else { return nil }
        return switch error.code {
        case .proxy: proxyAdvice(for: error)
        case .connectionLost where error.proxy != nil: proxyAdvice(for: error) ?? lostAdvice(for: error)
        case .timedOut where isMaxTimeShort: "Allow more time with --max-time"
        case .cannotFindHost where error.proxy != nil, .cannotConnect where error.proxy != nil, .timedOut where error.proxy != nil:
            "Is the address of the proxy right (--proxy, or the environment)?"
        case .cannotFindHost where arguments.connection.unixSocket != nil, .cannotConnect where arguments.connection.unixSocket != nil:
            "Is a server listening on the socket that --unix-socket names?"
        case .cannotFindHost: hostAdvice
        case .cannotConnect where isRefused(error): "Is a server listening on this port?"
        case .cannotConnect: "Is the address right, and is the network up?"
        case .notConnected where arguments.connection.waitForNetwork == nil:
            "Is this machine connected to a network? --wait-for-network 60 waits for a network"
        case .notConnected: "Is this machine connected to a network?"
        case .timedOut where error.phase == .connect:
            "Allow more time with --connect-timeout, or try another address"
        case .timedOut where isOfTransfer: nil
        case .timedOut: "Allow more time with --max-time"
        case .tls: tlsAdvice(for: error)
        case .invalidResponse where error.message.containsOctets("has more than") && error.message.containsOctets("fields"):
            "Allow more header fields with --max-header-count"
        case .invalidResponse where error.message.containsOctets("of the response") && error.message.containsOctets("longer than"):
            "Allow a longer header section with --max-header-bytes"
        case .connectionLost, .invalidResponse:
            if error.request?.head.scheme == "http", [443, 8443].contains(error.request?.origin?.effectivePort) {
                "Does the server want https:// on this port?"
            } else if error.code == .connectionLost {
                lostAdvice(for: error)
            } else if error.message.containsOctets("usesHTTP2WithoutTLS") {
                "--http2-prior-knowledge sends HTTP/2"
            } else {
                nil
            }
        default: nil
        }
    }

    /// The advice for failures that only a transfer has.
    private func transferAdvice(for error: any Error) -> String? {
        switch error {
        case let error as StatusError where error.status.kind == .redirection && !arguments.connection.followsRedirects:
            "Follow the redirect with -L"
        case let error as StatusError where error.status == .unauthorized: "Give credentials with -u USER:PASSWORD or --oauth2-bearer TOKEN"
        case let error as TransferError:
            switch error.code {
            case .noSpace: "Free some space on the disk"
            case .busy: "Wait until the other command ends"
            case .journalUnreadable: "To discard the bytes of the earlier run and start again, use --force without -C"
            case .fileChanged: "--force cancels the unfinished upload, and starts from the first byte"
            case .outcomeUnknown: "Find out whether the server has the file before you upload it again"
            case .notResumable: "--tus and --resumable choose the protocol. 'errand put -T FILE URL' sends the file at once"
            case .digestMismatch: "The next run starts from the first byte"
            default: nil
            }
        default: nil
        }
    }

    /// Whether `--max-time` ends a call before `--connect-timeout` can.
    private var isMaxTimeShort: Bool {
        arguments.connection.maxTime.map { $0 <= arguments.connection.connectTimeout ?? 10 } ?? false
    }

    /// The advice for a failure of a proxy. It names credentials only if the proxy asks for them.
    private func proxyAdvice(for error: TransportError) -> String? {
        switch error.proxyCredentials {
        case .missing: return "Give the user and the password with --proxy-user USER:PASSWORD"
        case .refused: return "Are the user and the password of the proxy right (--proxy-user, --proxy, or the environment)?"
        case nil:
            guard error.message.containsOctets("does not speak") || error.message.containsOctets("check that it is") else { return nil }
            return "Begin the proxy's URL with http://, https:// or socks5:// (--proxy, or the environment)"
        }
    }

    private var hostAdvice: String {
        if arguments.url.isExactly("version") { return "Did you mean --version?" }
        let near = Misspelling.nearest(to: arguments.url)
        if !near.isEmpty { return "Did you mean the subcommand \(near.map { "'\($0)'" }.joined(separator: " or ")), with a URL after it?" }
        return "Is the name of the host right, and is the network up?"
    }

    private func isRefused(_ error: TransportError) -> Bool {
        "\(error) \(error.underlying.map { "\($0)" } ?? "")".containsOctets("refused")
    }

    private func tlsAdvice(for error: TransportError) -> String? {
        let cause = error.underlying.map { String(describing: $0) } ?? ""
        let host = error.request?.origin?.host ?? ""
        if cause.containsOctets("WRONG_VERSION_NUMBER") {
            return error.request?.originBeforeHTTPS == nil
                ? "Use http:// in place of https:// for this port" : "The file of --hsts demands https for this host"
        }
        if cause.containsOctets("failedToValidateHostname") { return "Use the name that the certificate is for" }
        if cause.containsOctets("CERTIFICATE_VERIFY_FAILED") {
            let isOfDates = error.message.containsOctets("has expired") || error.message.containsOctets("not valid yet")
            if isOfDates, !arguments.connection.insecure {
                return "Is the clock of this machine right? -k skips the check: nothing then proves who the server is"
            }
            return certificateAdvice(host: host, isOfProxy: error.proxy != nil)
        }
        if cause.containsOctets("CERTIFICATE_REQUIRED") { return "Name the client's certificate with --cert and --key" }
        return nil
    }

    private func certificateAdvice(host: String, isOfProxy: Bool) -> String {
        if arguments.connection.insecure, let url = try? arguments.httpURL() {
            return "-k skips the check of \(url.host.shownSafely()) alone, "
                + (isOfProxy ? "not of a proxy" : "not of the host of a redirect")
                + ". Name the authority's certificate with --cacert FILE"
        }
        return Loopback.contains(host)
            ? "Name the authority's certificate, or a self-signed certificate itself, with --cacert FILE, or trust any certificate of this "
                + "machine with -k"
            : "If you trust the server, name the authority's certificate, or a self-signed certificate itself, with --cacert FILE. -k "
                + "skips the check: nothing then proves who the server is"
    }

    private func lostAdvice(for error: TransportError) -> String? {
        // Once the body has begun, nothing is sent again.
        if error.phase == .body { return isOfTransfer ? nil : "The response is incomplete; run the command again" }
        let retry = retryAdvice(for: error)
        // A server that expects TLS closes the connection without a response.
        let origin = error.request?.origin
        guard error.phase == .response, error.proxy == nil, origin?.scheme == "http", origin?.effectivePort != 80 else { return retry }
        return (retry.map { "\($0). " } ?? "") + "Does the server want https:// on this port?"
    }

    private func retryAdvice(for error: TransportError) -> String? {
        guard arguments.connection.retry == 0, let method = error.request?.method else { return nil }
        let isIdempotent = ["GET", "HEAD", "PUT", "DELETE", "OPTIONS", "TRACE"].contains(method.rawValue)
        return isIdempotent || error.delivery == .notSent ? "--retry 3 sends it again" : nil
    }
}
