/// The error for a name or a value that can't be sent in a header field. The error is thrown before anything is sent.
///
/// The description has the position of the first invalid octet, and never the value:
///
/// ```
/// invalid value of the header field X-Tenant: the octet 0xA at position 4 is not allowed
/// ```
public struct InvalidFieldError: NumberedFailure, Sendable, Hashable, CustomStringConvertible, SafelyDescribedError {
    /// The kind of problem. New codes may be added.
    public struct Code: Sendable, Hashable, CustomStringConvertible {
        /// The name of the code.
        public let description: String

        /// The name is empty, or has a forbidden octet, such as a space or a colon ([RFC 9110, section
        /// 5.1](https://www.rfc-editor.org/rfc/rfc9110#section-5.1)).
        public static let invalidName = Code(description: "invalidName")
        /// The value has a forbidden octet, such as a line break, or a space or a tab at its beginning or end ([RFC 9110, section
        /// 5.5](https://www.rfc-editor.org/rfc/rfc9110#section-5.5)).
        public static let invalidValue = Code(description: "invalidValue")
    }

    /// The problem.
    public let code: Code
    /// The name of the field; `nil` if the name is invalid. The error does not keep an invalid name, because such a name may be a
    /// misplaced secret.
    public let name: HTTPField.Name?
    /// The position of the first invalid octet in the text as UTF-8, from 0.
    public let position: Int
    /// The octet at this position; `nil` if the text is empty, or if values of this field are secret.
    public let octet: UInt8?
    private let isEmpty: Bool

    init(_ code: Code, of name: HTTPField.Name?, in text: String, at position: Int, isSecret: Bool = false) {
        (self.code, self.name, self.position, isEmpty) = (code, name, position, text.isEmpty)
        let hidesOctet = isSecret || name.map { Sensitivity.standard.isSensitive($0) } == true
        octet = hidesOctet ? nil : text.utf8.dropFirst(position).first
    }

    /// The field, the octet and its position, without the value.
    public var description: String {
        let subject = name.map { "value of the header field \($0.rawName.shownSafely())" } ?? "name of a header field"
        return "invalid \(subject): \(problem)"
    }

    private var problem: String {
        if isEmpty { return "it is empty" }
        guard let octet else { return "the octet at position \(position) is not allowed" }
        let hex = String(octet, radix: 16, uppercase: true)
        let isSpace = code == .invalidValue && (octet == 0x20 || octet == 0x09)
        return "the octet 0x\(hex) at position \(position) is not allowed" + (isSpace ? " at the beginning or the end" : "")
    }

    public var failureNumber: FailureNumber { .invalidField }
    /// The field, the octet and its position.
    public var failureReason: String? { description.asSentence }
}
