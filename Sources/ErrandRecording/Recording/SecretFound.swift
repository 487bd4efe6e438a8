/// A registered secret stands in what was to be written. Nothing was written.
///
/// Says where, and never what.
public struct SecretFoundError: Error, Sendable, Hashable, CustomStringConvertible {
    /// The exchange in the order of the file, from 1; nil where it is in none of them.
    public let entry: Int?
    /// The exchange's method and URL, without secrets; empty where there is none.
    public let exchange: String
    /// Where in it: `request URL`, `response field Location`, `request body`.
    public let place: String

    init(entry: Int?, exchange: String, place: String) { (self.entry, self.exchange, self.place) = (entry, exchange, place) }

    public var description: String {
        let exchange = exchange.isEmpty ? "" : " (\(exchange))"
        return "a registered secret stands in the \(place)\(entry.map { " of entry \($0)" } ?? "")\(exchange); nothing was written"
    }
}
