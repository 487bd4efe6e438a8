public import ErrandCore

extension ExchangeEvent.Kind {
    /// The closure `configure` of a ``URLSessionTransport`` has changed the URL or the field `Authorization` of the request.
    public static let requestChanged = ExchangeEvent.Kind("requestChanged")

    /// The request waits for a network inside `URLSession`: see ``/ErrandCore/RequestOptions/waitsForConnectivity``. `URLSession` does not
    /// report the end of the wait. The layer `waitForNetwork` reports both the beginning and the end of its own wait (`networkWaitStart`,
    /// `networkWaitEnd`).
    public static let waitingForConnectivity = ExchangeEvent.Kind("waitingForConnectivity")
}
