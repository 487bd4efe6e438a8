// `NSError` reads the domain and the code of an error from these two requirements of `Error`. ErrandCore has the numbers of all failures
// (`FailureNumber`). Its protocol `NumberedFailure` can't change the conformances to `Error` that this module declares.

/// The domain of the library's errors as an `NSError`.
package let errorDomain = "Errand"

extension EventTooLargeError {
    /// The domain of the error as an `NSError`.
    public var _domain: String { errorDomain }
    /// The code of the error as an `NSError`.
    public var _code: Int { 3023 }
}

extension JSONParsingError {
    /// The domain of the error as an `NSError`.
    public var _domain: String { errorDomain }
    /// The code of the error as an `NSError`.
    public var _code: Int { 3012 }
}

extension JSONPointerError {
    /// The domain of the error as an `NSError`.
    public var _domain: String { errorDomain }
    /// The code of the error as an `NSError`.
    public var _code: Int { 3013 }
}

extension JSONTextTooLargeError {
    /// The domain of the error as an `NSError`.
    public var _domain: String { errorDomain }
    /// The code of the error as an `NSError`.
    public var _code: Int { 3011 }
}

extension MultipartError {
    /// The domain of the error as an `NSError`.
    public var _domain: String { errorDomain }
    /// The code of the error as an `NSError`.
    public var _code: Int { 3030 }
}

extension RepeatedFieldError {
    /// The domain of the error as an `NSError`.
    public var _domain: String { errorDomain }
    /// The code of the error as an `NSError`.
    public var _code: Int { 3041 }
}

extension StructuredFieldError {
    /// The domain of the error as an `NSError`.
    public var _domain: String { errorDomain }
    /// The code of the error as an `NSError`.
    public var _code: Int { 3040 }
}
