package import ErrandCore
package import Foundation

extension URLError {
    /// Creates the error that a session reports for a failure of this library. The failure is the underlying error.
    ///
    /// - Parameters:
    ///   - failure: the failure. If the failure is not a ``/ErrandCore/TransportError``, the error is `URLError.unknown`, and its
    ///     `localizedDescription` is the description of the failure.
    ///   - url: the URL of the request; `nil` if the URL is not known.
    package init(_ failure: any RequestFailure, url: URL?) {
        let number = (failure as? TransportError).map { URLErrorTable.number(for: $0.code, $0.delivery) } ?? URLErrorTable.unknown.number
        let text = URLErrorTable.textForPeople(of: number, host: url?.host ?? "")
        var userInfo: [String: Any] = [NSLocalizedDescriptionKey: text ?? "\(failure)", NSUnderlyingErrorKey: failure]
        if let url { userInfo[NSURLErrorFailingURLErrorKey] = url }
        self.init(_nsError: NSError(domain: NSURLErrorDomain, code: number, userInfo: userInfo))
    }
}
