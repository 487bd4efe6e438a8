public import ErrandCore

/// The error of ``Recording/save()`` if a registered secret is in the content to be written. Nothing was written.
///
/// The error contains the position of the secret, but not the secret.
public struct SecretFoundError: NumberedFailure, Sendable, Hashable, CustomStringConvertible {
    /// The number of the exchange in the order of the file, from 1; `nil` if the secret is not in an exchange.
    public let entry: Int?
    /// The exchange's method and URL, without secrets; empty if the secret is not in an exchange.
    public let exchange: String
    /// The place within the exchange: `request URL`, `response field Location`, `request body`.
    public let place: String

    init(entry: Int?, exchange: String, place: String) { (self.entry, self.exchange, self.place) = (entry, exchange, place) }

    public var failureNumber: FailureNumber { .secretInRecording }
    public var failureReason: String? { description.asSentence }

    public var description: String {
        let exchange = exchange.isEmpty ? "" : " (\(exchange))"
        return "a registered secret was found in the \(place)\(entry.map { " of entry \($0)" } ?? "")\(exchange); nothing was written"
    }
}

extension SecretFoundError: SafelyDescribedError {}
