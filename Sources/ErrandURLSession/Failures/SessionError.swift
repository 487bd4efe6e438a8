/// The numbers that identify an error of the session. The error's own text is not kept, because it may contain a URL with secrets.
struct SessionError: Error, Sendable, Hashable {
    /// The number of `URLError`; `nil` for an error of another domain.
    var number: Int?
    /// The error number of the system (`errno`); `nil` if the session gives no error number of the system.
    var systemNumber: Int32?
    /// The number in the domain of CFNetwork; `nil` if the session gives no number of CFNetwork.
    var networkNumber: Int?
    /// The domain and the number of an error that is not a `URLError`.
    var other: String?
    /// Whether the system refuses a network for the request, because the app limits the use of cellular, expensive or constrained
    /// networks.
    var isDeniedNetwork = false

    /// An error without any known number.
    static let unknown = SessionError(number: -1)
}
