import ArgumentParser
import Errand
import Foundation

/// The options for authentication, with curl's names.
struct AuthenticationOptions: ParsableArguments {
    @Option(
        name: [.customShort("u"), .customLong("user")],
        help: ArgumentHelp(
            "Sends credentials, with Basic authentication unless another option says otherwise. Without ':password', asks for the password.",
            valueName: "user[:password]"))
    var user: String?
    @Flag(help: "Uses Basic authentication. This is the default.") var basic = false
    @Flag(help: "Uses Digest authentication, in response to the server's challenge.") var digest = false
    @Flag(
        name: .customLong("anyauth"),
        help: "Uses the safest authentication that the server offers: Digest, or else Basic. Sends no credentials before the server asks.")
    var anyAuth = false
    @Option(name: .customLong("oauth2-bearer"), help: ArgumentHelp("Sends this token, with Bearer authentication.", valueName: "token"))
    var oauth2Bearer: String?
    @Option(
        name: .customLong("auth"),
        help: ArgumentHelp(
            "Sends the token of a login of 'errand auth login'. For a user and a password, see -u.", valueName: "name"))
    var login: String?
    @Option(
        name: .customLong("aws-sigv4"),
        help: ArgumentHelp(
            """
            Signs the request with AWS Signature Version 4: 'aws:amz:REGION:SERVICE'. Without REGION and SERVICE, the host must have \
            them: SERVICE.REGION.amazonaws.com. -u gives the ID of the access key and its secret.
            """, valueName: "provider"))
    var awsSigV4: String?
    @Flag(
        name: [.customShort("n"), .customLong("netrc")],
        help: "Takes the credentials for the host from ~/.netrc, or from the file that NETRC names.")
    var netrc = false
    @Flag(help: "The same as --netrc, but the file may be missing.") var netrcOptional = false
    @Option(help: ArgumentHelp("The same as --netrc, with this file.", valueName: "file")) var netrcFile: String?

    /// The options of which a command may have only one.
    private var ways: [String] {
        [
            ("--basic", basic), ("--digest", digest), ("--anyauth", anyAuth), ("--oauth2-bearer", oauth2Bearer != nil),
            ("--auth", login != nil), ("--aws-sigv4", awsSigV4 != nil),
        ].filter(\.1).map(\.0)
    }

    func validate() throws {
        guard ways.count <= 1 else { throw ValidationError("\(ways.joined(separator: " and ")) do not go together") }
        guard oauth2Bearer == nil || user == nil else { throw ValidationError("--oauth2-bearer and --user do not go together") }
        guard login == nil || user == nil else { throw ValidationError("--auth and --user do not go together") }
        let readsNetrc = netrc || netrcOptional || netrcFile != nil
        if let way = ways.first, !["--oauth2-bearer", "--auth"].contains(way), user == nil, !readsNetrc {
            throw ValidationError("\(way) needs credentials. Use -u USER:PASSWORD")
        }
        _ = try awsSigV4.map { try AWSProvider($0) }
    }
}

/// The value of `--aws-sigv4`: `PROVIDER1[:PROVIDER2[:REGION[:SERVICE]]]`.
struct AWSProvider: Equatable {
    let region: String?
    let service: String?

    init(_ text: String) throws {
        let parts = text.split(separator: ":", omittingEmptySubsequences: false).map { $0.trimmingCharacters(in: .whitespaces) }
        guard (1...4).contains(parts.count), parts[0].lowercased() == "aws", parts.count < 2 || parts[1].lowercased() == "amz" else {
            throw ValidationError("--aws-sigv4 must be 'aws:amz', 'aws:amz:REGION' or 'aws:amz:REGION:SERVICE'")
        }
        func part(_ index: Int) throws -> String? {
            guard parts.count > index else { return nil }
            let text = parts[index]
            guard !text.isEmpty, text.utf8.allSatisfy({ (0x21...0x7E).contains($0) && !"/,".utf8.contains($0) }) else {
                throw ValidationError("--aws-sigv4 has an invalid region or service")
            }
            return text
        }
        (region, service) = (try part(2), try part(3))
    }

    /// The region and the service. A missing value is taken from the name of the host.
    ///
    /// - Throws: `ValidationError` if the name of the host does not have the missing value.
    func scope(for host: String) throws -> (region: String, service: String) {
        let labels = host.split(separator: ".").map(String.init)
        // An IP address has no region and no service.
        let hasScope = labels.count >= 4 && labels.last?.contains(where: \.isLetter) == true
        guard let service = service ?? (hasScope ? labels[0] : nil), let region = region ?? (hasScope ? labels[1] : nil)
        else {
            throw ValidationError(
                "--aws-sigv4 has no region and no service, and neither has the host. Use --aws-sigv4 aws:amz:REGION:SERVICE")
        }
        return (region, service)
    }
}

/// The authentication of a run, from the options, the file of passwords, or a typed password.
enum Authentication: Sendable {
    case none
    /// The value of `Authorization`.
    case field(String)
    case scheme(any AuthenticationScheme)
    case signature(AWSSignatureV4)
    case login(StoredLogin)

    /// Signs the requests of `stack`, if the options ask for signatures.
    func signing(_ stack: HTTPStack) -> HTTPStack {
        guard case .signature(let signer) = self else { return stack }
        return stack.sign(with: signer)
    }

    /// Authenticates the requests of `stack`, if there is a scheme.
    ///
    /// - Parameter transport: sends the requests for tokens.
    /// - Returns: the stack, and the source of its tokens, if it has one.
    func authenticating(_ stack: HTTPStack, transport: HTTPStack) throws -> (stack: HTTPStack, tokens: TokenSource?) {
        switch self {
        case .none, .field, .signature: return (stack, nil)
        case .scheme(let scheme): return (stack.wrapped(by: AuthenticateMiddleware(scheme)), nil)
        case .login(let login):
            let tokens = try login.source(via: transport)
            return (stack.authenticate(.bearer(tokens)), tokens)
        }
    }
}

extension AuthenticationStop {
    /// The reason why a challenge was not met, for the person at the terminal.
    func message(of response: Response) -> String {
        switch self {
        case .noCredentials:
            let offered = ServerChallenge(response.head).challenges.map { $0.scheme.shownSafely(limit: 40) }
            let names = Set(offered).sorted().joined(separator: ", ")
            return "the server asks for other credentials" + (names.isEmpty ? "" : ": \(names). --anyauth chooses between Digest and Basic")
        case .refused: return "the server refused the credentials"
        case .ownCredentials: return "the server refused the field Authorization"
        case .otherOrigin: return "the credentials are for another server"
        case .bodyCannotBeReplayed: return "the server asks for credentials, and the body can't be sent again. Give the body as a file"
        case .declined, .tooManyRounds: return "the server asks for credentials again and again"
        }
    }
}

extension RequestArguments {
    /// The authentication that the arguments ask for.
    ///
    /// - Throws: `ValidationError` for credentials that are missing or can't be sent, and for a file of passwords that can't be read.
    func authentication(environment: [String: String] = ProcessInfo.processInfo.environment) throws -> Authentication {
        if let token = who.oauth2Bearer {
            guard HTTPField.isValidValue(token), !token.isEmpty else { throw ValidationError("--oauth2-bearer must be one line of text") }
            return .field("Bearer \(token)")
        }
        if let name = who.login {
            guard !name.containsOctet(UInt8(ascii: ":")) else {
                throw ValidationError(
                    "--auth takes the name of a login of 'errand auth login'. For a user and a password, use -u USER:PASSWORD")
            }
            let url = try httpURL()
            let host = url.host.description
            guard url.scheme == "https" || ["localhost", "127.0.0.1", "[::1]", "::1"].contains(host) else {
                throw ValidationError("--auth sends a token, and '\(url.scheme)' does not protect it. Use https")
            }
            return .login(try StoredLogin.load(name))
        }
        guard let (user, password) = try credentials(environment: environment) else { return .none }
        if who.digest { return .scheme(.digest(user: user, password: password)) }
        if who.anyAuth { return .scheme(.password(user: user, password: password)) }
        if let text = who.awsSigV4 {
            let scope = try AWSProvider(text).scope(for: try httpURL().host.description)
            let credentials = AWSCredentials(accessKeyID: user, secretAccessKey: password)
            return .signature(.awsV4(credentials, region: scope.region, service: scope.service))
        }
        do {
            return .field(try BasicScheme.field(user: user, password: password))
        } catch {
            throw ValidationError("-u: \(error.code)")
        }
    }

    /// The user and the password.
    ///
    /// - Throws: `ValidationError` if there is neither a password nor a terminal to ask for it.
    private func credentials(environment: [String: String]) throws -> (user: String, password: String)? {
        let named = who.user.map { text -> (user: String, password: String?) in
            let (user, password) = text.cut(atOctet: UInt8(ascii: ":"))
            return (user, password)
        }
        if let named, let password = named.password { return (named.user, password) }
        let url = try httpURL()
        if let entry = try netrcEntry(for: url.host.description, user: named?.user, environment: environment) {
            return (named?.user ?? entry.user ?? "", entry.password ?? "")
        }
        guard let user = named?.user else { return nil }
        // The curl command shows a placeholder in place of the password.
        if shown.curl { return (user, "") }
        guard let password = Terminal.password(prompt: "Password for \(user.shownSafely()) at \(url.authority): ") else {
            throw ValidationError("-u \(user.shownSafely()) has no password. Use -u USER:PASSWORD, or a terminal, to type the password")
        }
        return (user, password)
    }

    /// The entry for a host in the file of passwords, if the options ask for the file and the entry exists.
    private func netrcEntry(for host: String, user: String?, environment: [String: String]) throws -> Netrc.Entry? {
        guard who.netrc || who.netrcOptional || who.netrcFile != nil else { return nil }
        let home = environment["HOME"] ?? NSHomeDirectory()
        let path = who.netrcFile ?? environment["NETRC"] ?? home + "/.netrc"
        guard FileManager.default.fileExists(atPath: path) else {
            if who.netrcOptional { return nil }
            throw ValidationError("cannot read '\(path.shownSafely())': there is no such file")
        }
        do {
            return try Netrc(atPath: path).entry(for: host, user: user)?.checked()
        } catch {
            throw ValidationError("cannot read '\(path.shownSafely())': \(error)")
        }
    }
}
