import Errand

/// One line about a response, for a terminal that would show nothing otherwise: `404 Not Found`.
enum StatusLine {
    /// The status and its reason phrase. If a redirect was not followed, also its target.
    static func text(for response: Response) -> String {
        let reason = response.status.reasonPhrase.shownSafely()
        let status = "\(response.status.code)" + (reason.isEmpty ? "" : " \(reason)")
        guard isRedirect(response), let field = response.headers.first(where: { $0.name == .location }) else { return status }
        return "\(status) → \(response.request.options.sensitivity.shownValue(of: field).shownSafely()), follow with -L"
    }

    static func isRedirect(_ response: Response) -> Bool {
        [301, 302, 303, 307, 308].contains(response.status.code) && response.headers[.location] != nil
    }
}
