internal import ErrandCore
internal import Foundation

/// The failure for each error that a session reports.
///
/// The numbers are the numbers of `URLError.Code` ([documentation](https://developer.apple.com/documentation/foundation/urlerror/code)).
/// If a `URLError` gives no reason, its underlying error of the system or of CFNetwork selects the failure.
enum URLErrorTable {
    /// The meaning of one error.
    struct Row: Sendable, Hashable {
        /// The number of `URLError.Code`.
        let number: Int
        /// The name of the code.
        let name: String
        let code: TransportError.Code
        /// The phase in which the error happens. `nil`: the failure has the phase that the exchange had reached.
        let phase: ExchangePhase?
        /// `notSent` if the error proves that no server got the request; `unknown` for any other error.
        let delivery: Delivery
        /// The reason in words; empty if the code needs no explanation.
        let text: String

        init(
            _ number: Int, _ name: String, _ code: TransportError.Code, in phase: ExchangePhase? = nil, _ delivery: Delivery,
            _ text: String = ""
        ) {
            (self.number, self.name, self.code, self.phase, self.delivery, self.text) = (number, name, code, phase, delivery, text)
        }

        /// Returns the reason for an error of this row: the row's text, and the reasons of the underlying errors. The reason has no
        /// secrets. The reason of an unknown error contains the number of the error.
        func message(for error: SessionError) -> String {
            // If the error of CFNetwork is unknown, the row may come from the underlying error of the system.
            let isUnknown = self == URLErrorTable.unknown || (number == URLErrorTable.unknown.number && text.isEmpty)
            let isExplained = error.networkNumber.flatMap { URLErrorTable.refined($0) } != nil
            var reasons = [isUnknown && !isExplained ? URLErrorTable.textOfUnknown(error) : text]
            // CFNetwork reports most errors with the number of the `URLError`.
            if let number = error.networkNumber, number != error.number, let row = URLErrorTable.refined(number), row != self {
                reasons.append(row.text)
            }
            if let number = error.systemNumber, number != 0 { reasons.append(systemErrorText(number)) }
            return reasons.filter { !$0.isEmpty }.joined(separator: ": ")
        }
    }

    /// The row for all errors that are not in the table. The request may have been sent.
    static let unknown = rows[0]

    static let rows: [Row] = [
        Row(-1, "unknown", .connectionLost, .unknown, "the session gives no reason"),
        Row(
            -995, "backgroundSessionRequiresSharedContainer", .invalidRequest, in: .request, .notSent,
            "a background session needs a shared container"),
        Row(
            -996, "backgroundSessionInUseByAnotherProcess", .invalidRequest, in: .request, .unknown,
            "another process uses the background session"),
        Row(-997, "backgroundSessionWasDisconnected", .connectionLost, .unknown, "the background session was disconnected"),
        Row(-999, "cancelled", .connectionLost, .unknown, "the session cancelled the task"),
        Row(-1000, "badURL", .invalidRequest, in: .request, .notSent, "the URL is not valid"),
        Row(-1001, "timedOut", .timedOut, .unknown, "the session's idle timeout passed"),
        // The transport sends only http and https. On Linux, this is the error for a response that is not HTTP.
        Row(-1002, "unsupportedURL", .invalidResponse, .unknown, "the session does not support the protocol of the server, or the URL"),
        Row(-1003, "cannotFindHost", .cannotFindHost, in: .connect, .notSent),
        Row(-1004, "cannotConnectToHost", .cannotConnect, in: .connect, .notSent),
        Row(-1005, "networkConnectionLost", .connectionLost, .unknown),
        Row(-1006, "dnsLookupFailed", .cannotFindHost, in: .connect, .notSent, "the lookup of the host failed"),
        Row(-1007, "httpTooManyRedirects", .invalidResponse, .unknown, "the session counted too many redirects"),
        Row(-1008, "resourceUnavailable", .connectionLost, .unknown, "the resource is not available"),
        Row(-1009, "notConnectedToInternet", .notConnected, in: .connect, .notSent, "this device is offline"),
        Row(-1010, "redirectToNonExistentLocation", .invalidResponse, .unknown, "the redirect has no valid target"),
        Row(-1011, "badServerResponse", .invalidResponse, in: .response, .unknown, "the server's response is not HTTP, or is empty"),
        Row(-1012, "userCancelledAuthentication", .connectionLost, .unknown, "the challenge of the server or proxy got no response"),
        Row(-1013, "userAuthenticationRequired", .proxy, .unknown, "the server or proxy requires credentials"),
        Row(
            -1014, "zeroByteResource", .invalidResponse, in: .response, .unknown, "the server returned no bytes of a body that it declared"),
        Row(-1015, "cannotDecodeRawData", .invalidResponse, .unknown, "the encoded body is damaged"),
        Row(-1016, "cannotDecodeContentData", .invalidResponse, .unknown, "the body has an unknown or damaged content coding"),
        Row(-1017, "cannotParseResponse", .invalidResponse, in: .response, .unknown, "the response is not valid HTTP"),
        Row(-1018, "internationalRoamingOff", .notConnected, in: .connect, .notSent, "this device is roaming, and data roaming is off"),
        Row(-1019, "callIsActive", .notConnected, in: .connect, .notSent, "a phone call uses the cellular network"),
        Row(-1020, "dataNotAllowed", .notConnected, in: .connect, .notSent, "the cellular network does not allow data"),
        Row(
            -1021, "requestBodyStreamExhausted", .connectionLost, .unknown, "the session had to send the body again, which was not allowed"),
        Row(
            -1022, "appTransportSecurityRequiresSecureConnection", .blockedByPolicy, in: .request, .notSent,
            "App Transport Security requires https"),
        Row(-1100, "fileDoesNotExist", .invalidRequest, in: .request, .unknown, "the file does not exist"),
        Row(-1101, "fileIsDirectory", .invalidRequest, in: .request, .unknown, "the file is a folder"),
        Row(-1102, "noPermissionsToReadFile", .invalidRequest, in: .request, .unknown, "the file can't be read"),
        Row(-1103, "dataLengthExceedsMaximum", .bodyTooLarge, .unknown, "a body exceeds the limit of the session, or GET has a body"),
        Row(-1104, "fileOutsideSafeArea", .invalidRequest, in: .request, .unknown, "the file is outside of the safe area"),
        Row(-1200, "secureConnectionFailed", .tls, in: .connect, .unknown, "the handshake failed"),
        Row(-1201, "serverCertificateHasBadDate", .tls, in: .connect, .notSent, "the certificate has expired, or is not valid yet"),
        Row(-1202, "serverCertificateUntrusted", .tls, in: .connect, .notSent, "the certificate is not trusted"),
        Row(-1203, "serverCertificateHasUnknownRoot", .tls, in: .connect, .notSent, "the certificate has an unknown authority"),
        Row(-1204, "serverCertificateNotYetValid", .tls, in: .connect, .notSent, "the certificate is not valid yet"),
        Row(-1205, "clientCertificateRejected", .tls, in: .connect, .unknown, "the server refused the client certificate"),
        Row(-1206, "clientCertificateRequired", .tls, in: .connect, .unknown, "the server needs a client certificate"),
        Row(-2000, "cannotLoadFromNetwork", .unsupported, in: .request, .notSent, "the request may not use the network"),
        Row(-3000, "cannotCreateFile", .invalidResponse, in: .body, .unknown, "the session could not create its file"),
        Row(-3001, "cannotOpenFile", .invalidResponse, in: .body, .unknown, "the session could not open its file"),
        Row(-3002, "cannotCloseFile", .invalidResponse, in: .body, .unknown, "the session could not close its file"),
        Row(-3003, "cannotWriteToFile", .invalidResponse, in: .body, .unknown, "the session could not write its file"),
        Row(-3004, "cannotRemoveFile", .invalidResponse, in: .body, .unknown, "the session could not remove its file"),
        Row(-3005, "cannotMoveFile", .invalidResponse, in: .body, .unknown, "the session could not move its file"),
        Row(-3006, "downloadDecodingFailedMidStream", .invalidResponse, in: .body, .unknown, "the encoded body is damaged"),
        Row(-3007, "downloadDecodingFailedToComplete", .invalidResponse, in: .body, .unknown, "the encoded body ends too early"),
    ]

    private static let byNumber = Dictionary(uniqueKeysWithValues: rows.map { ($0.number, $0) })

    /// Returns the row of an error.
    static func row(for error: SessionError) -> Row {
        let row = error.number.flatMap { byNumber[$0] } ?? unknown
        if error.isDeniedNetwork {
            return Row(row.number, row.name, .blockedByPolicy, in: .connect, row.delivery, "the request may not use the available network")
        }
        guard row == unknown else { return row }
        return error.networkNumber.flatMap { refined($0) } ?? error.systemNumber.flatMap { refined($0) } ?? row
    }

    /// Returns a text with the numbers of an error without a row.
    private static func textOfUnknown(_ error: SessionError) -> String {
        var parts: [String] = []
        if let number = error.number, number != unknown.number { parts.append("URLError \(number)") }
        if let other = error.other { parts.append(other) }
        if let number = error.networkNumber { parts.append("CFNetwork \(number)") }
        if !parts.isEmpty { return "the session reports the error " + parts.joined(separator: ", ") }
        return error.systemNumber.map { $0 != 0 } ?? false ? "" : unknown.text
    }

    // MARK: - Errors below a URLError

    /// Returns the row for an error of CFNetwork (`CFNetworkErrors`). For an error that is also a `URLError`, CFNetwork uses
    /// the number of the `URLError`.
    private static func refined(_ number: Int) -> Row? {
        if let row = byNumber[number] { return row }
        return switch number {
        case 1: refinement(.cannotFindHost, in: .connect, .notSent)  // kCFHostErrorHostNotFound
        case 2: refinement(.cannotFindHost, in: .connect, .notSent, "the lookup of the host failed")
        case 300: refinement(.proxy, .unknown, "the authentication scheme is not supported")
        case 301: refinement(.invalidResponse, .unknown, "the server refused the credentials")
        case 302: refinement(.connectionLost, .unknown)
        case 303: refinement(.invalidResponse, in: .response, .unknown, "the response is not valid HTTP")
        case 306: refinement(.proxy, in: .connect, .notSent, "the connection to the proxy failed")
        case 307: refinement(.proxy, .unknown, "the proxy refused the credentials")
        case 308: refinement(.proxy, in: .connect, .notSent, "the proxy's configuration is not valid")
        case 310: refinement(.proxy, in: .connect, .notSent, "the connection to the HTTPS proxy failed")
        case 311: refinement(.proxy, in: .connect, .unknown, "the HTTPS proxy returned an unexpected response")
        default: nil
        }
    }

    /// Returns a row for the underlying error of a `URLError` without a reason.
    private static func refinement(
        _ code: TransportError.Code, in phase: ExchangePhase? = nil, _ delivery: Delivery, _ text: String = ""
    ) -> Row { Row(unknown.number, unknown.name, code, in: phase, delivery, text) }

    /// Returns the row for an error of the system.
    private static func refined(_ number: Int32) -> Row? {
        guard let code = POSIXErrorCode(rawValue: number) else { return nil }
        return switch code {
        case .ECONNREFUSED: refinement(.cannotConnect, in: .connect, .notSent)
        // A host may become unreachable after the request was sent.
        case .EHOSTDOWN, .EHOSTUNREACH: refinement(.cannotConnect, in: .connect, .unknown)
        case .ENETUNREACH, .ENETDOWN: refinement(.notConnected, in: .connect, .unknown)
        case .ETIMEDOUT: refinement(.connectionLost, .unknown)
        case .ECONNRESET, .ECONNABORTED, .EPIPE, .ENOTCONN, .ENETRESET: refinement(.connectionLost, .unknown)
        default: nil
        }
    }
}
