/// The texts of failures for people, by the number of the failure. An app can replace the texts, for example by texts in another language.
///
/// ```swift
/// let texts = FailureTexts([
///     .notConnected: "Dieses Gerät ist offline.",
///     .responseTimedOut: "Der Server antwortet nicht.",
/// ])
/// do {
///     …
/// } catch {
///     alert(texts.text(for: error))
/// }
/// ```
///
/// If a number has no text of your own, the text comes from the fallback. By default, the fallback is ``english``, whose texts are also
/// the texts of `localizedDescription`. The English texts contain no host name, no address and no number. To name the server, read
/// `request?.origin` of the ``RequestFailure``.
///
/// If one failure caused another failure, the text describes the cause. For example, if a token could not be refreshed because the device
/// is offline, the text says that the device is offline.
public struct FailureTexts: Sendable {
    /// The text for a number and its error; `nil` if the texts and their fallbacks have no text for the number.
    private let find: @Sendable (FailureNumber, any Error) -> String?

    /// The English texts: ``englishTexts``, or, for a ``ServiceError`` with a message, the message of the back end.
    public static let english = FailureTexts(find: { number, error in
        (error as? ServiceError)?.messageForPeople ?? englishTexts[number]
    })

    private init(find: @escaping @Sendable (FailureNumber, any Error) -> String?) { self.find = find }

    /// Creates texts from a table.
    ///
    /// - Parameters:
    ///   - texts: the text of each number.
    ///   - fallback: the texts of the numbers that `texts` lacks. Default: ``english``.
    public init(_ texts: [FailureNumber: String], fallback: FailureTexts = .english) {
        self.init(find: { texts[$0] ?? fallback.find($0, $1) })
    }

    /// Creates texts from a function, such as the lookup of a String Catalog.
    ///
    /// ```swift
    /// let texts = FailureTexts { number, error in
    ///     if let refused = error as? StatusError, refused.status == .conflict { return "Somebody else has changed the note." }
    ///     return nil
    /// }
    /// ```
    ///
    /// - Parameters:
    ///   - fallback: the texts of the numbers for which `text` returns `nil`. Default: ``english``.
    ///   - text: returns the text for a number; `nil` for the text of the fallback. The number is ``FailureNumber/other`` for an error
    ///     that has neither a number nor a sentence of its own.
    public init(fallback: FailureTexts = .english, _ text: @escaping @Sendable (FailureNumber, any Error) -> String?) {
        self.init(find: { text($0, $1) ?? fallback.find($0, $1) })
    }

    /// Returns the text for an error.
    ///
    /// The text is the first of these texts:
    /// 1. The text of the number, if the error is a ``NumberedFailure``.
    /// 2. The `errorDescription` of the error, if the error is a `LocalizedError`.
    /// 3. The text of ``FailureNumber/other``.
    ///
    /// A `CancellationError` gets the text of ``FailureNumber/other``. An app usually shows no text for a cancellation.
    public func text(for error: any Error) -> String {
        knownText(for: error) ?? (error.decidingError as? any LocalizedError)?.errorDescription ?? find(.other, error) ?? ""
    }

    /// Returns the text of the error's number. If the error has no number, returns the error's `errorDescription`; `nil` if there is no
    /// text.
    ///
    /// This function never reads the `errorDescription` of a ``NumberedFailure``, because that property calls this function.
    func knownText(for error: any Error) -> String? {
        let error = error.decidingError
        guard let failure = error as? any NumberedFailure else { return (error as? any LocalizedError)?.errorDescription }
        return find(failure.failureNumber, error)
    }
}
