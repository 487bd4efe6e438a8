public import ErrandCore

/// A page of a list.
public struct Page<Output: Sendable>: Sendable {
    /// The decoded page.
    public let value: Output
    /// The page with the head and the metadata of its response.
    public let response: TypedResponse<Output>
    /// Where this page is.
    public let position: PagePosition
    /// Where the next page is; `nil` at the end of the list, and where ``NextPage`` has failed. To go on later, pass it as `from`.
    ///
    /// If the server has named a page that must not be requested, it is that one: to request it is an error. It is `nil` if an origin that nobody has
    /// allowed, behind a redirect, has named it.
    public internal(set) var next: PagePosition?
    /// The origin that the call is meant for, which alone gets its credentials; `nil` if it is not known.
    let home: Origin?
}

extension Page: CustomStringConvertible, HidesStorage {
    /// The position and the response, without the value, as it is the body: `the first page: 200, Items, to GET https://a.example/items`.
    public var description: String { "\(shown(position)): \(response)" }
    /// The description, and the next position.
    package var shownFields: KeyValuePairs<String, Any> { ["page": description, "next": next.map { shown($0) } ?? "none"] }

    /// By the names that the request, too, declares secret.
    private func shown(_ position: PagePosition) -> String { position.shown(by: response.request.options.sensitivity) }
}
