/// The stable number of a failure. A number keeps its meaning in all versions. A new version may add numbers.
///
/// ```swift
/// catch let error as any NumberedFailure where error.failureNumber == .notConnected {
///     showBanner("This device is offline.")
/// }
/// ```
///
/// Each error type of the library is a ``NumberedFailure``. As an `NSError`, a ``NumberedFailure`` has the domain `Errand`, and its number
/// is the `code`. ``FailureTexts`` has a text for people for each number.
///
/// | Numbers | Failures |
/// |---|---|
/// | 1 | Errors without a number |
/// | 1000 to 1999 | The transport and its proxy |
/// | 2000 to 2999 | Statuses, and errors in the envelope of a back end |
/// | 3000 to 3999 | Bodies, fields and values |
/// | 4000 to 4999 | Authentication |
/// | 5000 to 5999 | The stack and its middleware |
/// | 6000 to 6999 | Input of the app, and files |
/// | 7000 to 7999 | Stubs, recordings and the mock server |
/// | From 100,000 | Your own failures. The library never uses these numbers |
public struct FailureNumber: RawRepresentable, Hashable, Comparable, Sendable, CustomStringConvertible {
    /// The number.
    public let rawValue: Int

    /// Creates a number. For your own failures, use numbers from 100,000.
    ///
    /// - Parameter rawValue: the number.
    public init(rawValue: Int) { self.rawValue = rawValue }

    private init(_ number: Int) { rawValue = number }

    /// The number, as text.
    public var description: String { "\(rawValue)" }

    public static func < (first: FailureNumber, second: FailureNumber) -> Bool { first.rawValue < second.rawValue }

    /// An error without a number.
    public static let other = FailureNumber(1)

    // MARK: 1000 to 1099: the transport

    /// A failure of the transport with a code of your own.
    public static let transport = FailureNumber(1000)
    /// The host of the server could not be found.
    public static let cannotFindHost = FailureNumber(1001)
    /// No connection to the server could be made.
    public static let cannotConnect = FailureNumber(1002)
    /// The connection to the server broke off.
    public static let connectionLost = FailureNumber(1003)
    /// A timeout passed while the client connected to the server.
    public static let connectTimedOut = FailureNumber(1004)
    /// A timeout passed while the request waited in a queue or before an attempt.
    public static let queueTimedOut = FailureNumber(1005)
    /// A timeout passed while the request was sent or the response was received.
    public static let responseTimedOut = FailureNumber(1006)
    /// The certificate of the server was refused, or the handshake failed.
    public static let tls = FailureNumber(1007)
    /// The response does not conform to HTTP.
    public static let invalidResponse = FailureNumber(1008)
    /// A body is longer than its limit.
    public static let bodyTooLarge = FailureNumber(1009)
    /// The body of the request could not be read.
    public static let requestBody = FailureNumber(1010)
    /// The request is invalid.
    public static let invalidRequest = FailureNumber(1011)
    /// The transport lacks a feature that the request needs.
    public static let unsupported = FailureNumber(1012)
    /// The transport was shut down.
    public static let shutDown = FailureNumber(1013)
    /// The device is offline: ``TransportError/Code/notConnected``.
    public static let notConnected = FailureNumber(1014)
    /// A rule of the system or of the app forbids the connection.
    public static let blockedByPolicy = FailureNumber(1015)
    /// No certificate of the server has an expected pin.
    public static let certificatePins = FailureNumber(1016)
    /// A timeout passed while the request waited for a network, with `waitForNetwork` or ``RequestOptions/waitsForConnectivity``.
    public static let networkTimedOut = FailureNumber(1017)

    // MARK: 1100 to 1199: the proxy

    /// The proxy refused the request or the tunnel.
    public static let proxyRefused = FailureNumber(1100)
    /// The host of the proxy could not be found.
    public static let cannotFindProxy = FailureNumber(1101)
    /// No connection to the proxy could be made.
    public static let cannotConnectToProxy = FailureNumber(1102)
    /// The connection to the proxy broke off.
    public static let proxyConnectionLost = FailureNumber(1103)
    /// A timeout passed while the client connected to the proxy.
    public static let proxyConnectTimedOut = FailureNumber(1104)
    /// The certificate of the proxy was refused, or the handshake failed.
    public static let proxyTLS = FailureNumber(1105)
    /// The proxy asks for credentials, and the settings have no credentials.
    public static let proxyNeedsCredentials = FailureNumber(1106)
    /// The proxy refused the credentials.
    public static let proxyRefusedCredentials = FailureNumber(1107)
    /// The settings of the proxy are invalid, or not supported.
    public static let proxySettings = FailureNumber(1108)

    // MARK: 2000 to 2999: statuses, and errors in the envelope of a back end

    /// A status outside of 400 to 599 that is not accepted.
    public static let status = FailureNumber(2000)
    /// A status from 400 to 499 without a number of its own.
    public static let clientError = FailureNumber(2400)
    /// The status 401.
    public static let unauthorized = FailureNumber(2401)
    /// The status 403.
    public static let forbidden = FailureNumber(2403)
    /// The status 404.
    public static let notFound = FailureNumber(2404)
    /// The status 410.
    public static let gone = FailureNumber(2410)
    /// The status 429.
    public static let tooManyRequests = FailureNumber(2429)
    /// A status from 500 to 599.
    public static let serverError = FailureNumber(2500)
    /// An error in an envelope, without a message.
    public static let serviceError = FailureNumber(2900)
    /// An error in an envelope, with a message. The message is the text for people.
    public static let serviceMessage = FailureNumber(2901)

    // MARK: 3000 to 3999: bodies, fields and values

    /// A value can't be encoded as the body of a request.
    public static let requestEncoding = FailureNumber(3000)
    /// The body of a response is not a value of the declared type.
    public static let responseDecoding = FailureNumber(3001)
    /// A content coding of the response is invalid.
    public static let contentDecoding = FailureNumber(3002)
    /// The decoded body of the response exceeds a limit.
    public static let decodedBodyTooLarge = FailureNumber(3003)
    /// One of the JSON texts of a body can't be decoded.
    public static let jsonText = FailureNumber(3010)
    /// One of the JSON texts of a body exceeds a limit.
    public static let jsonTextTooLarge = FailureNumber(JSONTextTooLargeError.number)
    /// A text is not valid JSON.
    public static let invalidJSON = FailureNumber(JSONParsingError.number)
    /// A JSON pointer can't be applied to the JSON value.
    public static let jsonPointer = FailureNumber(JSONPointerError.number)
    /// The response is not an event stream.
    public static let notAnEventStream = FailureNumber(3020)
    /// The event stream was silent for too long.
    public static let silentEventStream = FailureNumber(3021)
    /// The event stream ended too early.
    public static let incompleteEventStream = FailureNumber(3022)
    /// An event exceeds a limit.
    public static let eventTooLarge = FailureNumber(EventTooLargeError.number)
    /// A multipart body is invalid.
    public static let multipart = FailureNumber(MultipartError.number)
    /// A transform of a body left some bytes at the end.
    public static let unconsumedInput = FailureNumber(3031)
    /// A second reader has requested a body that can be read only once.
    public static let bodyAlreadyUsed = FailureNumber(3032)
    /// A header field is not a valid structured field.
    public static let structuredField = FailureNumber(StructuredFieldError.number)
    /// A field occurs several times with different values.
    public static let repeatedField = FailureNumber(RepeatedFieldError.number)
    /// A response names an invalid URL.
    public static let urlReferenceInvalid = FailureNumber(3042)
    /// A response names a URL at an origin that is not allowed.
    public static let urlReferenceForeign = FailureNumber(3043)
    /// The next page of a list is one of the earlier pages.
    public static let pageLoop = FailureNumber(3050)
    /// A list has more pages than its policy allows.
    public static let tooManyPages = FailureNumber(3051)
    /// The next page of a list is at an origin that is not allowed.
    public static let pageAtForeignOrigin = FailureNumber(3052)
    /// The next page of a list has an invalid URL.
    public static let invalidPageURL = FailureNumber(3053)
    /// The work of the server was not done in time.
    public static let pollingTimedOut = FailureNumber(3060)
    /// The response of the server names no URL to poll.
    public static let noPollingURL = FailureNumber(3061)
    /// The URL to poll is at an origin that is not allowed.
    public static let pollingAtForeignOrigin = FailureNumber(3062)
    /// The URL to poll is invalid.
    public static let invalidPollingURL = FailureNumber(3063)

    // MARK: 4000 to 4999: authentication

    /// A request can't be authenticated, for a reason of your own.
    public static let authentication = FailureNumber(4000)
    /// Nobody is signed in.
    public static let signedOut = FailureNumber(4001)
    /// The server refused to refresh the token.
    public static let refreshRefused = FailureNumber(4002)
    /// The token could not be refreshed.
    public static let refreshFailed = FailureNumber(4003)
    /// The token was refreshed too often in a short time.
    public static let tooManyRefreshes = FailureNumber(4004)
    /// The store could not load or save the token.
    public static let tokenStore = FailureNumber(4005)
    /// Another account has signed in since the request began.
    public static let accountChanged = FailureNumber(4006)
    /// The code that refreshes a token has sent a request that needs the refreshed token.
    public static let withinRefresh = FailureNumber(4007)
    /// The credentials can't be sent.
    public static let invalidCredentials = FailureNumber(4008)
    /// An OAuth 2 server sent a code without a number of its own.
    public static let oauth = FailureNumber(4100)
    /// The code `invalid_request`.
    public static let oauthInvalidRequest = FailureNumber(4101)
    /// The code `invalid_client`.
    public static let oauthInvalidClient = FailureNumber(4102)
    /// The code `invalid_grant`.
    public static let oauthInvalidGrant = FailureNumber(4103)
    /// The code `unauthorized_client`.
    public static let oauthUnauthorizedClient = FailureNumber(4104)
    /// The code `unsupported_grant_type`.
    public static let oauthUnsupportedGrantType = FailureNumber(4105)
    /// The code `invalid_scope`.
    public static let oauthInvalidScope = FailureNumber(4106)
    /// The code `access_denied`.
    public static let oauthAccessDenied = FailureNumber(4107)
    /// The code `unsupported_response_type`.
    public static let oauthUnsupportedResponseType = FailureNumber(4108)
    /// The code `server_error`.
    public static let oauthServerError = FailureNumber(4109)
    /// The code `temporarily_unavailable`.
    public static let oauthTemporarilyUnavailable = FailureNumber(4110)
    /// The code `authorization_pending`.
    public static let oauthAuthorizationPending = FailureNumber(4111)
    /// The code `slow_down`.
    public static let oauthSlowDown = FailureNumber(4112)
    /// The code `expired_token`.
    public static let oauthExpiredToken = FailureNumber(4113)
    /// The response of an OAuth 2 server is unusable.
    public static let oauthInvalidResponse = FailureNumber(4120)
    /// The `state` of a redirect differs from the `state` of the request.
    public static let oauthStateMismatch = FailureNumber(4121)
    /// A redirect or the metadata comes from another issuer.
    public static let oauthIssuerMismatch = FailureNumber(4122)
    /// There is no refresh token.
    public static let oauthNoRefreshToken = FailureNumber(4123)
    /// The OAuth 2 server lacks a needed endpoint or feature.
    public static let oauthUnsupported = FailureNumber(4124)
    /// A token could not be revoked. For example, the OAuth 2 server refused the request, or has no revocation endpoint.
    public static let oauthSignOut = FailureNumber(4130)
    /// The file of a token store has no valid token.
    public static let tokenFileInvalid = FailureNumber(4200)
    /// Another process keeps the file of a token store busy.
    public static let tokenFileBusy = FailureNumber(4201)
    /// The store of a cookie jar could not be read or written.
    public static let cookieStore = FailureNumber(4300)
    /// A cookie jar does not accept a cookie.
    public static let cookieRefused = FailureNumber(4301)
    /// A file of cookies can't be used.
    public static let cookieFileInvalid = FailureNumber(4310)

    // MARK: 5000 to 5999: the stack and its middleware

    /// The circuit of the origin is open.
    public static let circuitBreaker = FailureNumber(5000)
    /// A rate limit is reached.
    public static let rateLimit = FailureNumber(5001)
    /// The store of a rate limit failed.
    public static let rateLimitStore = FailureNumber(5002)
    /// There were more redirects than the policy allows.
    public static let tooManyRedirects = FailureNumber(5010)
    /// The `Location` of a redirect is not a URL that can be requested.
    public static let invalidRedirect = FailureNumber(5011)
    /// A redirect has several `Location` fields with different values.
    public static let severalRedirectTargets = FailureNumber(5012)
    /// A redirect leads from https to http.
    public static let redirectDowngrade = FailureNumber(5013)
    /// Redirects lead to the same request again and again.
    public static let redirectLoop = FailureNumber(5014)
    /// The app keeps credentials for a redirect, but the redirect leads to another origin by http.
    public static let redirectNeedsHTTPS = FailureNumber(5015)
    /// A caller read a shared body too slowly.
    public static let slowReader = FailureNumber(5020)
    /// A validator rejects the response, and the call can't be sent again.
    public static let responseValidation = FailureNumber(5030)
    /// The stack can't apply an option of the request.
    public static let unsupportedOption = FailureNumber(5040)
    /// A middleware returned its own response while a request was prepared.
    public static let preparation = FailureNumber(5041)
    /// The settings of retries and timeouts are incompatible.
    public static let resilience = FailureNumber(5050)
    /// A request allows only a stored response, and the cache has no usable response. Nothing was sent.
    public static let notStored = FailureNumber(5060)

    // MARK: 6000 to 6999: input of the app, and files

    /// A text is not a URL that can be sent.
    public static let invalidURL = FailureNumber(6000)
    /// A text is not an IP address.
    public static let invalidIPAddress = FailureNumber(6001)
    /// A text is not an entry of host overrides.
    public static let invalidHostOverride = FailureNumber(6002)
    /// The settings of TLS are invalid.
    public static let tlsSettings = FailureNumber(6003)
    /// A setting of the transport can't be used.
    public static let transportSetting = FailureNumber(6004)
    /// A name or a value can't be sent in a header field.
    public static let invalidField = FailureNumber(6005)
    /// A file could not be read.
    public static let fileRead = FailureNumber(6010)
    /// A file could not be written.
    public static let fileWrite = FailureNumber(6011)
    /// A file is complete, but its name may not survive a loss of power.
    public static let fileNotDurable = FailureNumber(6012)
    /// The disk has too little space for a transfer.
    public static let noSpace = FailureNumber(6020)
    /// Another transfer writes the same file.
    public static let transferBusy = FailureNumber(6021)
    /// The journal of an earlier transfer can't be read.
    public static let journalUnreadable = FailureNumber(6022)
    /// The content of a transfer changed, or the server's responses can't continue the file.
    public static let contentChanged = FailureNumber(6023)
    /// The content of a transfer differs from its digest.
    public static let digestMismatch = FailureNumber(6024)

    // MARK: 7000 to 7999: stubs, recordings and the mock server

    /// No stub matches the request.
    public static let unmatchedRequest = FailureNumber(7000)
    /// A recording has no exchange that matches the request.
    public static let unrecordedRequest = FailureNumber(7001)
    /// A registered secret is in the content of a recording.
    public static let secretInRecording = FailureNumber(7002)
    /// A file is not an HTTP archive.
    public static let invalidRecording = FailureNumber(7003)
    /// A run of `CancellationTorture` failed.
    public static let torture = FailureNumber(7010)
    /// A mock server waited for too long.
    public static let mockServerTimeout = FailureNumber(7020)
    /// A mock server received an incomplete request.
    public static let brokenRequest = FailureNumber(7021)
}
