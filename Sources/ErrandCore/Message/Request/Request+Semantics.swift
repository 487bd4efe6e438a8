extension Request {
    /// The header fields, with the fallback fields that the transport's boundary adds.
    public var completedFields: HTTPFields {
        if !options.hasFallbackHeaders { return head.headerFields }
        var fields = head.headerFields
        for field in options.fallbackHeaders where !head.headerFields.contains(field.name) { fields.append(field) }
        return fields
    }

    /// The head with ``completedFields``.
    package var headWithFallbacks: HTTPRequest {
        var head = head
        head.headerFields = completedFields
        return head
    }

    /// The path and query as transports write them. An empty path is written as a slash.
    package var writtenTarget: String {
        let target = head.path ?? ""
        return target.isEmpty || target.hasOctetPrefix("?") ? "/" + target : target
    }

    /// Whether the request has the field `Idempotency-Key`.
    public var hasIdempotencyKey: Bool { head.headerFields[.idempotencyKey] != nil }

    /// Whether sending this request twice has the same effect as sending the request once: the method is idempotent ([RFC 9110, section
    /// 9.2.2](https://www.rfc-editor.org/rfc/rfc9110#section-9.2.2)), or the request has the field `Idempotency-Key`.
    ///
    /// ``RequestBody/replay`` says whether the body can be sent again.
    public var mayBeSentAgain: Bool { method.mayBeSentAgain(hasKey: hasIdempotencyKey) }

    /// Returns whether it is safe to send the request again after a failure: ``mayBeSentAgain`` is true, or no server has processed the
    /// request.
    ///
    /// - Parameter error: the failure of the last attempt, with the records of the earlier attempts.
    public func mayBeSentAgain(after error: any Error) -> Bool { mayBeSentAgain || !error.mayHaveBeenProcessed }

    /// The tags of the request, without secrets.
    package var shownTags: [String: String] {
        var tags = options.tags
        for name in tags.keys where options.sensitivity.isSensitive(memberName: name) { tags[name] = Sensitivity.placeholder }
        return tags
    }
}
