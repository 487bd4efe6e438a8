extension Request {
    /// Checks that a transport has the capabilities that the options of this request require.
    ///
    /// A stack makes this check for its own transport. A transport that calls this function first also refuses the options of a request
    /// that is sent without a stack, with the same error.
    ///
    /// - Parameter capabilities: the capabilities of the transport.
    /// - Throws: ``UnsupportedOptionError`` for the first option that requires another capability.
    public func checkOptions(supportedBy capabilities: TransportCapabilities) throws(UnsupportedOptionError) {
        if options.isEmpty { return }
        if let (key, missing) = options.firstUnsupported(by: capabilities, { _ in true }) {
            throw UnsupportedOptionError(key, missing: missing, request: self)
        }
    }
}
