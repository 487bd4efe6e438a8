package import ErrandCore

private enum RawAnswersKey: MetadataKey, OptionKey {
    static var defaultValue: Bool { false }
    static var crossesOrigins: Bool { true }
}

private enum StreamedAnswerKey: MetadataKey { static var defaultValue: Bool { false } }

extension RequestOptions {
    /// Whether the sender of the request can write raw bytes to a connection.
    package var acceptsRawAnswers: Bool {
        get { self[RawAnswersKey.self] }
        set { self[RawAnswersKey.self] = newValue }
    }
}

extension ResponseMetadata {
    /// Whether the response was made before the request's body was read, and reads the body itself.
    package var isStreamedAnswer: Bool {
        get { self[StreamedAnswerKey.self] }
        set { self[StreamedAnswerKey.self] = newValue }
    }

    /// Whether the body is a complete message, including its head.
    package var isRawAnswer: Bool {
        get { self[RawAnswersKey.self] }
        set { self[RawAnswersKey.self] = newValue }
    }
}
