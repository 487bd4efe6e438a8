#if Auth
import Errand
import ErrandTesting
import Foundation
import Synchronization
import TestSupport
import Testing

@testable import ErrandAuth

/// A refresh uses the old refresh token up. So it is sent only if the store can keep the new token.
@Suite(.timeLimit(.minutes(5))) struct TokenDiskTests {
    /// A server that accepts each refresh token only once.
    private final class Server: Sendable {
        let used = Mutex<[String?]>([])
        /// What happens while a refresh is in progress.
        let during: @Sendable () async throws -> Void
        let padding: String

        init(paddingBytes: Int = 0, during: @escaping @Sendable () async throws -> Void = {}) {
            (padding, self.during) = (String(repeating: "x", count: paddingBytes), during)
        }

        var requests: [String?] { used.withLock { $0 } }

        func source(_ store: any TokenStore) -> TokenSource {
            TokenSource(store: store) { [self] old in
                let number = used.withLock { used in
                    used.append(old.refreshToken)
                    return used.count
                }
                try await during()
                return AccessToken("at\(number)" + padding, refreshToken: "rt\(number)")
            }
        }
    }

    private static let first = AccessToken("at0", expiresAt: .distantPast, refreshToken: "rt0")

    private func refusal(of tokens: TokenSource) async throws -> AuthenticationError {
        let error = await #expect(throws: AuthenticationError.self) { try await tokens.token() }
        return try #require(error)
    }

    // MARK: A small disk

    @Test(.enabled(if: SmallDisk.missing == nil, Comment(rawValue: SmallDisk.missing ?? "")))
    func noRefreshIsSentWhileTheDiskIsFull() async throws {
        let (disk, server) = (try SmallDisk(bytes: 128 * 1024), Server())
        let store = FileTokenStore(atPath: disk.file("token.json"))
        let tokens = server.source(store)
        try await tokens.signIn(Self.first)
        try disk.fill()
        // The number is larger than the number of refreshes that are allowed within a time.
        for _ in 1...7 {
            let error = try await refusal(of: tokens)
            #expect(error.code == .storeFailed && (error.underlying as? FileWriteError)?.code == ENOSPC)
            #expect(error.description.contains("cannot reserve space for the next token in '\(store.path)': "), "\(error)")
            #expect(error.description.contains("No refresh was sent") && error.description.contains("Free some space"), "\(error)")
            #expect(error.recoverySuggestion == "Free some space and try again.")
            #expect(try disk.names == ["token.json", "token.json.lock", "token.json.write-lock", "filler"])
        }
        #expect(server.requests.isEmpty)
        #expect(try await store.load()?.refreshToken == "rt0")
        try disk.empty()
        #expect(try await tokens.token().value == "at1")
        #expect(try await store.load()?.refreshToken == "rt1")
        #expect(server.requests == ["rt0"])
        #expect(try disk.names == ["token.json", "token.json.lock", "token.json.write-lock"])
    }

    /// A short-lived process would have lost the token.
    @Test(.enabled(if: SmallDisk.missing == nil, Comment(rawValue: SmallDisk.missing ?? "")))
    func aTokenIsKeptIfTheDiskIsFilledDuringTheRefresh() async throws {
        let disk = try SmallDisk(bytes: 128 * 1024)
        let server = Server(paddingBytes: 15_000) { try disk.fill() }
        let store = FileTokenStore(atPath: disk.file("token.json"))
        let tokens = server.source(store)
        try await tokens.signIn(Self.first)
        let token = try await tokens.token()
        #expect(token.refreshToken == "rt1" && token.value.utf8.count == 15_003)
        #expect(try await FileTokenStore(atPath: store.path).load()?.value == token.value)
        #expect(try disk.names == ["token.json", "token.json.lock", "token.json.write-lock", "filler"])
    }

    @Test(.enabled(if: SmallDisk.missing == nil, Comment(rawValue: SmallDisk.missing ?? "")))
    func noRefreshIsSentWhileTheDiskIsReadOnly() async throws {
        let (disk, server) = (try SmallDisk(bytes: 128 * 1024), Server())
        let store = FileTokenStore(atPath: disk.file("token.json"))
        let tokens = server.source(store)
        try await tokens.signIn(Self.first)
        try disk.setReadOnly(true)
        let error = try await refusal(of: tokens)
        #expect(error.code == .storeFailed && (error.underlying as? FileWriteError)?.code == EROFS && server.requests.isEmpty)
        #expect(error.recoverySuggestion == "Choose a folder that this program may write to.")
        try disk.setReadOnly(false)
        #expect(try await tokens.token().refreshToken == "rt1")
    }

    // MARK: The part file

    private func names(_ folder: TestFolder) throws -> Set<String> { Set(try FileManager.default.contentsOfDirectory(atPath: folder.path)) }

    private static let kept: Set = ["token.json", "token.json.lock", "token.json.write-lock"]

    @Test func spaceIsReservedOnlyDuringARefresh() async throws {
        let folder = try TestFolder("token-disk")
        let path = folder.file("token.json")
        let seen = Mutex<[Int]>([])
        let server = Server {
            let attributes = try FileManager.default.attributesOfItem(atPath: path + ".part")
            let blocks = try await Programs.run("/bin/sh", ["-c", "stat -c %b '\(path).part' 2>/dev/null || echo 1000"])
            seen.withLock {
                $0 += [attributes[.size] as? Int ?? 0, attributes[.posixPermissions] as? Int ?? 0]
                $0.append(Int(blocks.split(separator: "\n").first ?? "") ?? 0)
            }
        }
        let tokens = server.source(FileTokenStore(atPath: path))
        try await tokens.signIn(Self.first)
        let present = try folder.read("token.json").count
        #expect(try await tokens.token().refreshToken == "rt1")
        let (found, names) = (seen.withLock { $0 }, try names(folder))
        #expect(found.count == 3 && found[0] == present + 16 * 1024 && found[1] == 0o600)
        // A block has 512 bytes.
        #expect(found[2] * 512 >= found[0], "the blocks are on the disk")
        #expect(names == Self.kept)
    }

    @Test func aFailedRefreshLeavesNoFile() async throws {
        let folder = try TestFolder("token-disk")
        let server = Server { throw TransportError(.connectionLost, phase: .response, request: nil, delivery: .unknown) }
        let store = FileTokenStore(atPath: folder.file("token.json"))
        let tokens = server.source(store)
        try await tokens.signIn(Self.first)
        #expect(try await refusal(of: tokens).code == .refreshFailed)
        #expect(try names(folder) == Self.kept && server.requests == ["rt0"])
        #expect(try await store.load()?.refreshToken == "rt0")
    }

    @Test func aCancelledRefreshLeavesNoFile() async throws {
        let folder = try TestFolder("token-disk")
        let (begun, mayEnd) = (Signal(), Signal())
        let server = Server {
            begun.signal()
            await mayEnd.waitIgnoringCancellation()
        }
        let tokens = server.source(FileTokenStore(atPath: folder.file("token.json")))
        try await tokens.signIn(Self.first)
        let waiting = Task { try await tokens.token() }
        await begun.waitIgnoringCancellation()
        try await tokens.signOut()
        mayEnd.signal()
        _ = await waiting.result
        await tokens.finish()
        try await poll("the refresh to end", value: { try names(folder) }) { $0 == ["token.json.lock", "token.json.write-lock"] }
    }

    /// What a killed process has left is used, and may be longer than what is needed.
    @Test(arguments: [0, 10, 200_000]) func aFileOfAKilledProcessIsReplaced(bytes: Int) async throws {
        let (folder, server) = (try TestFolder("token-disk"), Server())
        let store = FileTokenStore(atPath: folder.file("token.json"))
        let tokens = server.source(store)
        func leave() throws {
            try folder.write(Data(repeating: 0x78, count: bytes), to: "token.json.part")
            try FileManager.default.setAttributes([.posixPermissions: 0o600], ofItemAtPath: store.path + ".part")
        }
        try leave()
        try await tokens.signIn(Self.first)
        #expect(try names(folder).isSubset(of: Self.kept))
        #expect(try await store.load()?.refreshToken == "rt0")
        try leave()
        #expect(try await tokens.token().refreshToken == "rt1")
        #expect(try await store.load()?.refreshToken == "rt1")
        #expect(try names(folder) == Self.kept)
        try leave()
        try await tokens.signOut()
        #expect(try names(folder) == Self.kept.subtracting(["token.json"]))
    }

    /// Another user could read the token, or write the file.
    @Test(arguments: ["readable", "link", "folder"]) func aFileOfAnotherUserIsNotUsed(kind: String) async throws {
        let (folder, server) = (try TestFolder("token-disk"), Server())
        let store = FileTokenStore(atPath: folder.file("token.json"))
        let tokens = server.source(store)
        try await tokens.signIn(Self.first)
        switch kind {
        case "readable": try folder.write("theirs", to: "token.json.part")
        case "link":
            try folder.write("theirs", to: "elsewhere")
            try FileManager.default.createSymbolicLink(atPath: store.path + ".part", withDestinationPath: folder.file("elsewhere"))
        default: try folder.folder("token.json.part")
        }
        let error = try await refusal(of: tokens)
        #expect(error.code == .storeFailed && error.underlying is FileWriteError && server.requests.isEmpty, "\(error)")
        if kind == "readable" {
            #expect(error.description.contains("token.json.part' exists") && error.description.contains("remove the file"))
        }
        if kind != "folder" { #expect(try folder.read("token.json.part") == Data("theirs".utf8)) }
        #expect(try await store.load()?.refreshToken == "rt0")
        // A sign-in does not need the file.
        try await tokens.signIn(AccessToken("other"))
        #expect(try await store.load()?.value == "other")
    }

    // MARK: Stores of an app

    @Test func aStoreIsAskedBeforeEachRefresh() async throws {
        let store = RecordingTokenStore(preparationError: CocoaError(.fileWriteOutOfSpace))
        let server = Server { await store.record("refresh") }
        let tokens = server.source(store)
        try await tokens.signIn(Self.first)
        for _ in 1...7 {
            let error = try await refusal(of: tokens)
            #expect(error.code == .storeFailed && (error.underlying as? CocoaError)?.code == .fileWriteOutOfSpace)
        }
        #expect(server.requests.isEmpty && tokens.current?.value == "at0")
        await store.allowPreparation()
        #expect(try await tokens.token().value == "at1")
        let log = await store.log
        #expect(log.suffix(5) == ["lock", "prepare", "refresh", "save", "unlock"])
        #expect(log.count { $0 == "prepare" } == 8)
        // If the token is valid, the store is not asked.
        _ = try await tokens.token()
        #expect(await store.log == log)
    }
}
#endif
