internal import ErrandFormats

/// A failure with a stable number. Each error type of the library conforms to this protocol.
///
/// As an `NSError`, the failure has the domain `Errand`, and its number is the `code`. Code that knows only `NSError`, such as a
/// crash reporter, can group failures by this code.
///
/// Your own error types can also conform to this protocol. Choose a number from 100,000. Declare ``errorDescription``, or add a
/// text to your ``FailureTexts``:
///
/// ```swift
/// extension FailureNumber {
///     static let quotaUsedUp = FailureNumber(rawValue: 100_001)
/// }
///
/// struct QuotaError: NumberedFailure {
///     var failureNumber: FailureNumber { .quotaUsedUp }
///     var errorDescription: String? { "Your quota is used up." }
/// }
/// ```
public protocol NumberedFailure: LocalizedError {
    /// The number of the failure.
    var failureNumber: FailureNumber { get }
}

// An `NSError` takes its domain and its code from `_domain` and `_code`, two requirements of `Error`. The usual way to set both values is
// `CustomNSError`, but FoundationEssentials does not have it. Therefore this extension implements `_domain` and `_code` directly.
extension NumberedFailure {
    /// The domain of the failure as an `NSError`.
    public var _domain: String { FailureNumber.errorDomain }
    /// The code of the failure as an `NSError`: the number of the failure.
    public var _code: Int { failureNumber.rawValue }

    /// A sentence for people: the English text of the number. If there is no such text, the sentence of the failure that caused this
    /// failure; `nil` if no other failure is the cause.
    public var errorDescription: String? { FailureTexts.english.knownText(for: self) ?? decidingText }

    /// The text of the failure that caused this failure; `nil` if there is no such failure.
    fileprivate var decidingText: String? { (self as? any DependentFailure)?.decidingFailure?.errorDescription }
}

extension FailureNumber {
    /// The domain of each ``NumberedFailure`` as an `NSError`: `Errand`.
    public static let errorDomain = ErrandFormats.errorDomain
}

extension RequestFailure where Self: NumberedFailure {
    /// A sentence for people: the English text of the number. If there is no such text, the sentence of the failure that caused this
    /// failure, or ``RequestFailure/description``.
    public var errorDescription: String? { FailureTexts.english.knownText(for: self) ?? decidingText ?? description }
}

// ErrandFormats does not import Foundation, which has `LocalizedError`. Therefore, the errors of ErrandFormats become numbered failures in
// this file. The number of each error is its code in ErrandFormats. Only the module that declares the conformance to `Error` can set the
// code.

extension EventTooLargeError: NumberedFailure, SafelyDescribedError {
    public var failureNumber: FailureNumber { FailureNumber(rawValue: _code) }
}

extension JSONParsingError: NumberedFailure, SafelyDescribedError {
    public var failureNumber: FailureNumber { FailureNumber(rawValue: _code) }
    /// The problem and its position.
    public var failureReason: String? { description.asSentence }
}

extension JSONPointerError: NumberedFailure {
    public var failureNumber: FailureNumber { FailureNumber(rawValue: _code) }
    /// The place and the reason.
    public var failureReason: String? { description.asSentence }
}

extension JSONTextTooLargeError: NumberedFailure, SafelyDescribedError {
    public var failureNumber: FailureNumber { FailureNumber(rawValue: _code) }
}

extension MultipartError: NumberedFailure, SafelyDescribedError {
    public var failureNumber: FailureNumber { FailureNumber(rawValue: _code) }
    /// The problem of the form.
    public var failureReason: String? { description.asSentence }
}

extension RepeatedFieldError: NumberedFailure, SafelyDescribedError {
    public var failureNumber: FailureNumber { FailureNumber(rawValue: _code) }
    /// The field and its problem.
    public var failureReason: String? { description.asSentence }
}

extension StructuredFieldError: NumberedFailure, SafelyDescribedError {
    public var failureNumber: FailureNumber { FailureNumber(rawValue: _code) }
    /// The problem and its position.
    public var failureReason: String? { description.asSentence }
}
