extension Request {
    /// Returns this request as the next request of the call to which `earlier` belongs. Use this function in a middleware that lets
    /// other code choose the next request.
    ///
    /// The result has the head, the body and the options of this request. These values come from `earlier`:
    ///
    /// - the ID, and the limits and observers of the call
    /// - the deadline, if it passes before the deadline of this request
    /// - the event sink and the number, if this request has no such value
    /// - the names of sensitive values (``RequestOptions/sensitivity``), in addition to the names of this request
    /// - the facts that determine which values may reach another origin
    ///
    /// - Parameter earlier: the request that this request replaces, or the last request of the call.
    public func continuingCall(of earlier: Request) -> Request {
        var next = earlier
        // The body is set first, because setting the body may change the head.
        next.body = body
        next.head = head
        next.knownTarget = knownTarget
        next.deadline = Deadline.earlier(deadline, earlier.deadline)
        next.options = options
        next.options.call = earlier.options.call
        next.options.eventSink = options.eventSink ?? earlier.options.eventSink
        next.options.requestNumber = options.requestNumber ?? earlier.options.requestNumber
        next.options.sensitivity.formUnion(earlier.options.sensitivity)
        next.options.fieldsOfServer.formUnion(earlier.options.fieldsOfServer)
        next.options.fieldsWithoutServer.formUnion(earlier.options.fieldsWithoutServer)
        next.options.hasLeftOrigin = options.hasLeftOrigin || earlier.options.hasLeftOrigin
        // The count must differ from every earlier count of the call, so that the outer layers see the change and restore the call.
        next.options.callStamp = earlier.options.callStamp &+ 1
        return next
    }

    /// Prepares the request for a call of any length, such as an event stream, a download or an upload.
    ///
    /// The timeouts of the call and of its attempts are switched off. The request asks for a body without a content coding, unless
    /// the request has the field `Accept-Encoding`.
    package mutating func prepareForLongCall() {
        (options.timeout, options.attemptTimeout) = (.off, .off)
        if headers[.acceptEncoding] == nil { headers[.acceptEncoding] = "identity" }
    }
}
