public import ErrandCore

/// A page of a list.
public struct ResultPage<Output: Sendable>: Sendable {
    /// The decoded page.
    public let value: Output
    /// The page with the head and the metadata of its response.
    public let response: TypedResponse<Output>
    /// The position of this page.
    public let position: PagePosition
    /// The position of the next page; `nil` at the end of the list, and if ``NextPage`` has failed. To continue later, pass the position as
    /// `from`.
    ///
    /// If the server has named a page that must not be requested, this property has the position of the forbidden page. A request for
    /// that page fails. If a redirect led to an origin that is not allowed, and that origin has named the forbidden page, this
    /// property is `nil`.
    public internal(set) var next: PagePosition?
    /// The origin of the call, which is the only origin that gets the credentials of the call; `nil` if the origin is not
    /// known.
    let originOfCall: Origin?
}

extension ResultPage: CustomStringConvertible, HidesStorage {
    /// The position and the response. The value is not shown, because the value is content of the body. An example: `the first
    /// page: 200, Items, to GET https://a.example/items`.
    public var description: String { "\(shown(position)): \(response)" }
    /// The description, and the next position.
    package var shownFields: KeyValuePairs<String, Any> { ["page": description, "next": next.map { shown($0) } ?? "none"] }

    /// Returns the position. Values are replaced if the request declares the values secret.
    private func shown(_ position: PagePosition) -> String { position.shown(by: response.request.options.sensitivity) }
}
