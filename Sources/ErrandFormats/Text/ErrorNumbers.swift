// `NSError` gets the domain and the code of an error from `_domain` and `_code`, which are requirements of `Error`. The protocol
// `NumberedFailure` of ErrandCore can't provide these properties for the errors that this module declares. `FailureNumber` of
// ErrandCore has constants with these numbers.

/// The domain of the library's errors as an `NSError`.
package let errorDomain = "Errand"

extension EventTooLargeError {
    @inlinable package static var number: Int { 3023 }
    /// The domain of the error as an `NSError`.
    public var _domain: String { errorDomain }
    /// The code of the error as an `NSError`.
    public var _code: Int { Self.number }
}

extension JSONParsingError {
    @inlinable package static var number: Int { 3012 }
    /// The domain of the error as an `NSError`.
    public var _domain: String { errorDomain }
    /// The code of the error as an `NSError`.
    public var _code: Int { Self.number }
}

extension JSONPointerError {
    @inlinable package static var number: Int { 3013 }
    /// The domain of the error as an `NSError`.
    public var _domain: String { errorDomain }
    /// The code of the error as an `NSError`.
    public var _code: Int { Self.number }
}

extension JSONTextTooLargeError {
    @inlinable package static var number: Int { 3011 }
    /// The domain of the error as an `NSError`.
    public var _domain: String { errorDomain }
    /// The code of the error as an `NSError`.
    public var _code: Int { Self.number }
}

extension MultipartError {
    @inlinable package static var number: Int { 3030 }
    /// The domain of the error as an `NSError`.
    public var _domain: String { errorDomain }
    /// The code of the error as an `NSError`.
    public var _code: Int { Self.number }
}

extension RepeatedFieldError {
    @inlinable package static var number: Int { 3041 }
    /// The domain of the error as an `NSError`.
    public var _domain: String { errorDomain }
    /// The code of the error as an `NSError`.
    public var _code: Int { Self.number }
}

extension StructuredFieldError {
    @inlinable package static var number: Int { 3040 }
    /// The domain of the error as an `NSError`.
    public var _domain: String { errorDomain }
    /// The code of the error as an `NSError`.
    public var _code: Int { Self.number }
}
