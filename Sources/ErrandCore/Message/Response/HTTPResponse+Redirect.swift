extension HTTPResponse {
    /// Whether this is a redirect with a target: its status is 301, 302, 303, 307 or 308
    /// ([RFC 9110, section 15.4](https://www.rfc-editor.org/rfc/rfc9110#section-15.4)), and its `Location` is not empty. A
    /// response with several values of `Location` is a redirect, too: ``HTTPFields/checkedSingle(_:)`` selects the value.
    public var isRedirect: Bool {
        switch status.code {
        case 301, 302, 303, 307, 308: headerFields[values: .location].contains { !$0.isEmpty }
        default: false
        }
    }
}
