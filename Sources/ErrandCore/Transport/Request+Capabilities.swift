extension Request {
    /// Checks that a transport has the capabilities that the options of this request require.
    ///
    /// A stack makes this check for its own transport. If the app sends a request directly to a transport, no stack makes this check.
    /// Therefore a transport calls this function first, and the request fails with the same error as in a stack.
    ///
    /// - Parameter capabilities: the capabilities of the transport.
    /// - Throws: ``UnsupportedOptionError`` for the first option that requires a capability that is not in `capabilities`.
    public func checkOptions(supportedBy capabilities: TransportCapabilities) throws(UnsupportedOptionError) {
        if options.isEmpty { return }
        if let (key, missing) = options.firstUnsupported(by: capabilities, { _ in true }) {
            throw UnsupportedOptionError(key, missing: missing, request: self)
        }
    }
}
