package import ErrandCore

private enum RawResponsesKey: MetadataKey, CrossOriginOptionKey {
    static var defaultValue: Bool { false }
}

private enum StreamedResponseKey: MetadataKey { static var defaultValue: Bool { false } }

extension RequestOptions {
    /// Whether the sender of the request can write raw bytes to a connection.
    package var acceptsRawResponses: Bool {
        get { self[RawResponsesKey.self] }
        set { self[RawResponsesKey.self] = newValue }
    }
}

extension ResponseMetadata {
    /// Whether the response was made before the request's body was read. If true, the response itself reads the request's body.
    package var isStreamedResponse: Bool {
        get { self[StreamedResponseKey.self] }
        set { self[StreamedResponseKey.self] = newValue }
    }

    /// Whether the body is a complete message, including its head.
    package var isRawResponse: Bool {
        get { self[RawResponsesKey.self] }
        set { self[RawResponsesKey.self] = newValue }
    }
}
