import ArgumentParser
import Errand
import Foundation

/// A sign-in that `errand auth login` has stored: the server, the client, and the path of its token.
///
/// Each login has files with mode 0600 in a folder with mode 0700: `NAME.json`, `NAME.token`, and the locks `NAME.token.lock`
/// and `NAME.token.write-lock`.
struct StoredLogin: Codable, Sendable {
    /// How tokens are obtained.
    enum Kind: String, Codable, Sendable {
        /// By a person, in a browser or with another device.
        case person
        /// By the client itself.
        case client
    }

    enum SecretPlace: String, Codable, Sendable, CaseIterable, ExpressibleByArgument {
        case basic
        case post
    }

    var name: String
    var kind: Kind
    var issuer: String?
    var tokenEndpoint: String
    var authorizationEndpoint: String?
    var deviceAuthorizationEndpoint: String?
    var revocationEndpoint: String?
    var namesIssuer: Bool
    var clientID: String
    var clientSecret: String?
    var secretPlace: SecretPlace
    var scopes: [String]

    var server: OAuthServer {
        OAuthServer(
            issuer: issuer, tokenEndpoint: tokenEndpoint, authorizationEndpoint: authorizationEndpoint,
            deviceAuthorizationEndpoint: deviceAuthorizationEndpoint, revocationEndpoint: revocationEndpoint, namesIssuer: namesIssuer)
    }

    func client(via sender: some HTTPSender) -> OAuthClient {
        let authentication: OAuthClient.Authentication =
            switch (clientSecret, secretPlace) {
            case (nil, _): .none
            case (let secret?, .basic): .basic(secret: secret)
            case (let secret?, .post): .post(secret: secret)
            }
        return OAuthClient(server, clientID: clientID, authentication: authentication, via: sender)
    }

    /// The token, which is refreshed and saved.
    func source(via sender: some HTTPSender) throws -> TokenSource {
        let client = client(via: sender)
        let store = FileTokenStore(atPath: try Self.path(name, "token"))
        // No refresh in the background: the command ends without waiting for it, and the new token would be lost.
        let policy = RefreshPolicy(leadTime: .zero)
        guard kind == .client else { return TokenSource(client, store: store, policy: policy) }
        return TokenSource(clientCredentials: client, scopes: scopes, store: store, policy: policy)
    }

    // MARK: Files

    /// `$XDG_STATE_HOME/errand`, or `~/.local/state/errand`.
    static var folder: String {
        let environment = ProcessInfo.processInfo.environment
        let state = environment["XDG_STATE_HOME"].flatMap { $0.hasPrefix("/") ? $0 : nil }
        return (state ?? (environment["HOME"] ?? NSHomeDirectory()) + "/.local/state") + "/errand"
    }

    /// - Throws: `ValidationError` for a name that can't name a file.
    static func path(_ name: String, _ kind: String) throws -> String {
        let isValid =
            !name.isEmpty && name.utf8.count <= 100 && !name.hasPrefix(".")
            && name.utf8.allSatisfy { byte in
                switch byte {
                case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"), UInt8(ascii: "0")...UInt8(ascii: "9"):
                    true
                default: "-_.".utf8.contains(byte)
                }
            }
        guard isValid else {
            // The text may be a password or a token.
            throw ValidationError("the name of a login has letters, digits, '-', '_' and '.', at most 100 of them, and begins with no '.'")
        }
        return "\(folder)/\(name).\(kind)"
    }

    /// - Throws: `ValidationError` if there is no login of this name.
    static func load(_ name: String) throws -> StoredLogin {
        let path = try path(name, "json")
        guard let data = FileManager.default.contents(atPath: path) else {
            // The name is not shown: it may be a token.
            throw ValidationError("there is no login of this name. 'errand auth status' shows the logins, and 'errand auth login' adds one")
        }
        // The file may have the secret of the client.
        let permissions = try FileManager.default.attributesOfItem(atPath: path)[.posixPermissions] as? Int
        guard let permissions, permissions & 0o077 == 0 else {
            throw ValidationError("the login in '\(path.shownSafely())' can be read or written by others. Use 'chmod 600' on it")
        }
        guard let login = try? JSONCoding().decode(StoredLogin.self, from: data) else {
            throw ValidationError("the login in '\(path.shownSafely())' can't be read. Use 'errand auth login' again")
        }
        return login
    }

    /// The names of all logins, sorted.
    static var names: [String] {
        let files = (try? FileManager.default.contentsOfDirectory(atPath: folder)) ?? []
        return files.filter { $0.hasOctetSuffix(".json") }.map { String($0.dropLast(5)) }.sorted()
    }

    /// - Throws: ``WriteError``; `FileWriteError`.
    func save() async throws {
        let path = try Self.path(name, "json")
        do {
            try FileManager.default.createDirectory(
                atPath: Self.folder, withIntermediateDirectories: true, attributes: [.posixPermissions: 0o700])
        } catch {
            throw WriteError(path: path, error)
        }
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.prettyPrinted, .sortedKeys, .withoutEscapingSlashes]
        let options = FileWriteOptions(permissions: 0o600, synchronizesToDisk: true)
        try await ResponseBody(try encoder.encode(self)).write(toPath: path, options: options)
    }

    /// Removes all files. If another process refreshes the token, waits for the end of that refresh, for at most 120 s.
    ///
    /// - Throws: `FileWriteError`; `TokenFileError`.
    func remove() async throws {
        let paths = try ["token", "json", "token.lock", "token.write-lock"].map { try Self.path(name, $0) }
        let store = FileTokenStore(atPath: paths[0])
        // Only the holder of a lock may remove the lock's file. Queued processes then lock a new file. The locks are taken in the same
        // order as for a refresh.
        try await store.exclusively {
            try await store.atomically {
                for path in paths {
                    guard unlink(path) == 0 || errno == ENOENT else { throw FileWriteError(path: path, operation: "remove", code: errno) }
                }
            }
        }
    }
}

extension StoredLogin: CustomStringConvertible {
    /// The login, without secrets.
    var description: String {
        "\(name): client \(clientID.shownSafely()) of \((issuer ?? tokenEndpoint).shownSafely(limit: 200))"
    }
}
