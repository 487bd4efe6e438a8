import Errand
import Foundation

/// One line for a failure: what, where, whether it was sent, and what to try.
enum FailureAdvice {
    static func line(for error: any Error) -> String {
        let text = (error as? any RequestFailure)?.description ?? "\(error)"
        return advice(for: error).map { "\(text); try: \($0)" } ?? text
    }

    private static func advice(for error: any Error) -> String? {
        if let error = error as? RedirectError {
            if case let text = error.reason.description, text.hasPrefix("more than") { return "--max-redirs, or look at the loop with -v" }
            return nil
        }
        guard let error = error as? TransportError else { return nil }
        return switch error.code {
        case .cannotFindHost: "is the host's name right, and is there a network?"
        case .cannotConnect: "is a server listening there? curl and this command see the same port"
        case .timedOut where error.phase == .connect: "--connect-timeout with more seconds, or another address"
        case .timedOut: "--max-time with more seconds, or --retry"
        case .tls: "--cacert with the authority's certificate, if it is yours"
        case .connectionLost where error.delivery != .sent: "--retry, if doing it twice does no harm"
        case .connectionLost: "--retry"
        case .proxy: "the credentials in --proxy"
        default: nil
        }
    }
}
