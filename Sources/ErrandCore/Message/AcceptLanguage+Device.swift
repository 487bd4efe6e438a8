extension AcceptLanguage {
    /// Creates a value from the languages in the settings of the device, which `Locale.preferredLanguages` returns.
    ///
    /// ```swift
    /// request.headers[.acceptLanguage] = AcceptLanguage().value
    /// ```
    ///
    /// The languages are read once. A person can change the settings while the app runs. Therefore an app creates the value for each
    /// request, as `transformRequest` does. On Linux, the only language is `en-001`, whatever the environment says.
    public init() { self.init(preferred: Locale.preferredLanguages) }
}
