extension AcceptLanguage {
    /// Creates a value from the languages in the settings of the device (`Locale.preferredLanguages`).
    ///
    /// ```swift
    /// request.headers[.acceptLanguage] = AcceptLanguage().value
    /// ```
    ///
    /// The initializer reads the languages once. A person can change the settings while the app runs. Therefore, create the value for each
    /// request, for example in the closure of `transformRequest`. On Linux, the only language is always `en-001`. Environment variables do
    /// not change the language.
    public init() { self.init(preferred: Locale.preferredLanguages) }
}
