package import ErrandCore
internal import ErrandFormats

extension SecretScrubber {
    /// The length of the shortest secret that is searched in the response, in bytes. A shorter value occurs in other texts by chance.
    private static let shortestEchoBytes = 6

    /// Creates the scrubber of the secrets that requests carry in their URLs, fields and bodies. A server may repeat these secrets in its
    /// response, under another name or in a text.
    ///
    /// A body is searched if the body is in memory and has at most ``/ErrandCore/SecretValues/bodyLimitBytes``.
    ///
    /// - Returns: `nil` if the requests have no secrets.
    package init?(of requests: [Request], by sensitivity: Sensitivity) {
        var values = SecretValues(shortestBytes: Self.shortestEchoBytes)
        for request in requests {
            values.learn(fromHeadOf: request, by: sensitivity)
            guard let data = request.body.bufferedData, data.count <= SecretValues.bodyLimitBytes else { continue }
            let type = request.completedFields.single(.contentType).flatMap { MediaType($0) }
            for value in Findings(in: Array(data), type: type, sensitivity: sensitivity).values { values.learn(value) }
        }
        if values.isEmpty { return nil }
        self.init(values.texts)
    }
}
