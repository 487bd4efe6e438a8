package import ErrandCore
package import Foundation

extension URLErrorTable {
    /// The numbers of the errors that a session usually reports, one for each code of ``/ErrandCore/TransportError`` and each delivery.
    static let usualNumbers = [-1009, -1003, -1004, -1005, -1001, -1202, -1200, -1022, -1011, -1103, -1013, -1000]

    /// Returns the number of the `URLError` for a failure of this library: the inverse of ``row(for:)``. If no error has this meaning,
    /// returns -1.
    static func number(for code: TransportError.Code, _ delivery: Delivery) -> Int {
        let fitting = usualNumbers.compactMap { number in rows.first { $0.number == number && $0.code == code } }
        return (fitting.first { $0.delivery == delivery } ?? fitting.first ?? unknown).number
    }
}

extension URLError {
    /// Creates the error that a session reports for a failure of this library. The failure is the underlying error.
    ///
    /// - Parameters:
    ///   - failure: the failure. If the failure is not a ``/ErrandCore/TransportError``, the error is `URLError.unknown`.
    ///   - url: the URL of the request; `nil` if the URL is not known.
    package init(_ failure: any RequestFailure, url: URL?) {
        let number = (failure as? TransportError).map { URLErrorTable.number(for: $0.code, $0.delivery) } ?? URLErrorTable.unknown.number
        var userInfo: [String: Any] = [NSLocalizedDescriptionKey: "\(failure)", NSUnderlyingErrorKey: failure]
        if let url { userInfo[NSURLErrorFailingURLErrorKey] = url }
        self.init(_nsError: NSError(domain: NSURLErrorDomain, code: number, userInfo: userInfo))
    }
}
