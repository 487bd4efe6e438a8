import ArgumentParser
import Errand
import ErrandNIO
import Foundation

/// Signs in with OAuth 2, and keeps the token for later requests.
struct AuthCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "auth", abstract: "Signs in with OAuth 2, for requests with '--auth NAME'.",
        usage: """
            errand auth login [<options>] --client-id <id> [<name>]
            errand auth status [<name>]
            errand auth logout [<options>] [<name>]
            """,
        discussion: """
            The token is kept in a file that only you can read, is refreshed when it expires, and is never shown. The files are in \
            $XDG_STATE_HOME/errand, or in ~/.local/state/errand.

            EXAMPLES:
              errand auth login work --issuer https://auth.example --client-id me
              errand --auth work https://api.example/me
              errand auth logout work
            """,
        subcommands: [LoginCommand.self, LoginStatusCommand.self, LogoutCommand.self])
}

/// The options for the connection to a server that issues tokens.
struct AuthConnectionOptions: ParsableArguments {
    @Option(help: ArgumentHelp("A PEM file with certificate authorities to trust besides the system's.", valueName: "file"))
    var cacert: String?

    /// Runs `body` with a transport, and ends the command with the right status.
    func run(_ body: @escaping @Sendable (NIOTransport) async throws -> Void) async throws {
        let configuration: NIOTransport.Configuration = {
            var configuration = NIOTransport.Configuration()
            if let cacert { configuration.tls.extraRootsPEMFiles = [cacert] }
            return configuration
        }()
        let task = Task {
            let transport: NIOTransport
            do {
                transport = try NIOTransport(configuration)
            } catch {
                throw ValidationError("--cacert can't be read: \(error)")
            }
            try await withInterruptibleTransport(transport) { try await body($0) }
        }
        Interrupt.whenItComes { task.cancel() }
        do {
            try await task.value
        } catch is CancellationError {
            throw ExitCode(Interrupt.exitStatus)
        } catch let error where error is ValidationError || error is ExitCode {
            throw error
        } catch {
            Terminal.say("errand: \((error as? any RequestFailure)?.description ?? "\(error)")")
            throw ExitCode(error is OAuthError || error is StatusError ? 4 : error is FileWriteError || error is WriteError ? 23 : 6)
        }
    }
}

struct LoginCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "login", abstract: "Signs in, and keeps the token.", usage: "errand auth login [<options>] --client-id <id> [<name>]",
        discussion: """
            A person signs in with a browser: the command shows a URL, and waits until the browser returns to a port of this machine. The \
            server must know the address http://127.0.0.1:PORT/callback. If the server accepts only some ports, use --redirect-port. \
            With --device, the person signs in on another device. With --client-credentials, no person is needed.
            """)

    @Argument(help: "The name of the login, for '--auth NAME'.") var name = "default"
    @Option(help: ArgumentHelp("The URL of the server, which publishes its endpoints.", valueName: "url")) var issuer: String?
    @Option(
        help: ArgumentHelp("The token endpoint, if the server publishes no endpoints.", valueName: "url")) var tokenURL: String?
    @Option(help: ArgumentHelp("The page on which a person signs in, if the server publishes no endpoints.", valueName: "url"))
    var authorizationURL: String?
    @Option(help: ArgumentHelp("The endpoint for sign-ins with another device, if the server publishes no endpoints.", valueName: "url"))
    var deviceURL: String?
    @Option(name: .customLong("client-id"), help: ArgumentHelp("The identifier of the client.", valueName: "id")) var clientID: String
    @Option(
        help: ArgumentHelp(
            "The secret of the client. To hide the secret from other users, set the variable ERRAND_CLIENT_SECRET instead.",
            valueName: "secret"))
    var clientSecret: String?
    @Option(help: ArgumentHelp("How the secret is sent: basic in a header field, post in the form.", valueName: "place"))
    var clientAuth = StoredLogin.SecretPlace.basic
    @Option(help: ArgumentHelp("An access right that the token must have. Can be repeated.", valueName: "scope")) var scope: [String] = []
    @Flag(help: "Signs in with another device: shows a page and a code.") var device = false
    @Flag(help: "Gets a token for the client itself.") var clientCredentials = false
    @Option(help: ArgumentHelp("The port to which the browser returns. By default, a free port.", valueName: "port")) var redirectPort = 0
    @Option(
        help: ArgumentHelp(
            "Runs this command with the URL. By default, the command in the variable BROWSER, if it is set.", valueName: "command"))
    var browser: String?
    @Option(help: ArgumentHelp("How long to wait for a person with a browser.", valueName: "seconds")) var wait = 300
    @OptionGroup(title: "Connection options") var connection: AuthConnectionOptions

    func validate() throws {
        _ = try StoredLogin.path(name, "json")
        guard (issuer == nil) != (tokenURL == nil) else { throw ValidationError("either --issuer or --token-url is needed") }
        guard !device || !clientCredentials else { throw ValidationError("--device and --client-credentials do not go together") }
        guard (0...65_535).contains(redirectPort) else { throw ValidationError("--redirect-port must be 0 to 65535 (is \(redirectPort))") }
        guard (1...86_400).contains(wait) else { throw ValidationError("--wait must be 1 to 86400 seconds (is \(wait))") }
    }

    func run() async throws {
        let secret = clientSecret ?? ProcessInfo.processInfo.environment["ERRAND_CLIENT_SECRET"]
        if clientCredentials, secret == nil {
            throw ValidationError("--client-credentials needs a secret: --client-secret, or ERRAND_CLIENT_SECRET")
        }
        let command = self
        try await connection.run { transport in
            let server = try await command.server(transport)
            let login = StoredLogin(
                name: command.name, kind: command.clientCredentials ? .client : .person, issuer: server.issuer,
                tokenEndpoint: server.tokenEndpoint, authorizationEndpoint: server.authorizationEndpoint,
                deviceAuthorizationEndpoint: server.deviceAuthorizationEndpoint, revocationEndpoint: server.revocationEndpoint,
                namesIssuer: server.namesIssuer, clientID: command.clientID, clientSecret: secret, secretPlace: command.clientAuth,
                scopes: command.scope)
            let client = login.client(via: transport)
            let token = try await command.token(client)
            try await login.save()
            try await login.source(via: transport).signIn(token)
            try Terminal.write(Data("signed in as \(login)\n  \(token)\n".utf8))
        }
    }

    private func server(_ transport: NIOTransport) async throws -> OAuthServer {
        if let tokenURL {
            return OAuthServer(
                tokenEndpoint: tokenURL, authorizationEndpoint: authorizationURL, deviceAuthorizationEndpoint: deviceURL)
        }
        return try await OAuthServer.discover(issuer: issuer ?? "", via: transport)
    }

    private func token(_ client: OAuthClient) async throws -> AccessToken {
        if clientCredentials { return try await client.clientCredentials(scopes: scope) }
        if device {
            let authorization = try await client.deviceAuthorization(scopes: scope)
            Terminal.say(
                "Open \(authorization.verificationURI.shownSafely(limit: 500)) and enter the code \(authorization.userCode.shownSafely(limit: 100))"
            )
            return try await client.token(for: authorization)
        }
        let (authorization, redirect) = try await LoopbackReceiver.redirect(
            port: redirectPort, within: wait, where: { (begun: OAuthAuthorization, redirect) in begun.matches(redirect: redirect) }
        ) { redirect in
            let authorization = try client.authorization(redirectURI: redirect, scopes: scope)
            Terminal.say("Open this page to sign in:\n\(authorization.url)")
            try Self.open(authorization.url, with: browser ?? ProcessInfo.processInfo.environment["BROWSER"])
            return authorization
        }
        return try await client.token(for: authorization, redirect: redirect)
    }

    /// Runs a command of a shell, with the URL as its last argument.
    private static func open(_ url: String, with command: String?) throws {
        guard let command, !command.isEmpty else { return }
        let process = Process()
        process.executableURL = URL(fileURLWithPath: "/bin/sh")
        process.arguments = ["-c", command + " \"$1\"", "sh", url]
        // The browser and its child processes need no secret of the client.
        process.environment = ProcessInfo.processInfo.environment.filter { $0.key != "ERRAND_CLIENT_SECRET" }
        process.standardInput = FileHandle.nullDevice
        process.standardOutput = FileHandle.nullDevice
        process.standardError = FileHandle.nullDevice
        process.terminationHandler = { process in
            // The shell's exit statuses for a command that is missing or can't be run.
            guard [126, 127].contains(process.terminationStatus) else { return }
            Terminal.say("errand: cannot run the browser '\(command.shownSafely())': open the page yourself")
        }
        try process.run()
    }
}

struct LoginStatusCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "status", abstract: "Shows who is signed in, without tokens.", usage: "errand auth status [<name>]")
    @Argument(help: "The name of the login. By default, all.") var name: String?

    func run() async throws {
        let names = try name.map { [try StoredLogin.load($0).name] } ?? StoredLogin.names
        if names.isEmpty { Terminal.say("errand: nobody is signed in. Use 'errand auth login'") }
        for name in names {
            let login = try StoredLogin.load(name)
            var text = "\(login)\n"
            do {
                let token = try await FileTokenStore(atPath: StoredLogin.path(name, "token")).load()
                text += "  \(token.map { $0.hasExpired(at: Date()) ? "\($0) (expired)" : "\($0)" } ?? "signed out")\n"
            } catch {
                text += "  \(error)\n"
            }
            try Terminal.write(Data(text.utf8))
        }
    }
}

struct LogoutCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "logout", abstract: "Revokes the token, and removes the login.", usage: "errand auth logout [<options>] [<name>]",
        discussion: "The login is removed even if the server can't be reached, or can't revoke tokens.")
    @Argument(help: "The name of the login.") var name = "default"
    @OptionGroup(title: "Connection options") var connection: AuthConnectionOptions

    func run() async throws {
        let login = try StoredLogin.load(name)
        try await connection.run { transport in
            var token: AccessToken?
            do {
                token = try await login.source(via: transport).signOut()
            } catch {
                Terminal.say("errand: the token can't be revoked: \(error)")
            }
            try await login.remove()
            if token != nil, login.revocationEndpoint == nil {
                Terminal.say("errand: the server can't revoke tokens: the token stays valid until it expires")
            }
            if let token, login.revocationEndpoint != nil {
                do {
                    try await login.client(via: transport).revoke(token)
                } catch {
                    Terminal.say("errand: the login is removed, but the token could not be revoked: \(error)")
                    throw ExitCode(6)
                }
            }
            try Terminal.write(Data("signed out of \(login)\n".utf8))
        }
    }
}
