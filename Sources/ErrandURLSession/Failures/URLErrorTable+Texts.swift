internal import ErrandCore

extension URLErrorTable {
    /// The numbers of the errors that a session usually reports, one for each code of ``/ErrandCore/TransportError`` and each delivery.
    static let usualNumbers = [-1009, -1003, -1004, -1005, -1001, -1202, -1200, -1022, -1011, -1103, -1013, -1000]

    /// Returns the number of the `URLError` for a failure of this library: the inverse of ``row(for:)``. If no error has this meaning,
    /// returns -1.
    static func number(for code: TransportError.Code, _ delivery: Delivery) -> Int {
        let fitting = usualNumbers.compactMap { number in rows.first { $0.number == number && $0.code == code } }
        return (fitting.first { $0.delivery == delivery } ?? fitting.first ?? unknown).number
    }

    /// Returns the `localizedDescription` of a session's error, in English, as on Apple's platforms. `nil` for an error that is not in
    /// ``usualNumbers``.
    ///
    /// - Parameter host: the host of the request.
    static func textForPeople(of number: Int, host: String) -> String? {
        switch number {
        case -1009: "The Internet connection appears to be offline."
        case -1003: "A server with the specified hostname could not be found."
        case -1004: "Could not connect to the server."
        case -1005: "The network connection was lost."
        case -1001: "The request timed out."
        case -1202:
            "The certificate for this server is invalid. You might be connecting to a server that is pretending to be “\(host)” which "
                + "could put your confidential information at risk."
        case -1200: "An SSL error has occurred and a secure connection to the server cannot be made."
        case -1022:
            "The resource could not be loaded because the App Transport Security policy requires the use of a secure connection."
        case -1011: "There was a bad response from the server."
        case -1103: "resource exceeds maximum size"
        case -1013: "user authentication required"
        case -1000: "bad URL"
        default: nil
        }
    }
}
