import ArgumentParser
import Errand
import Foundation

#if SQLite
import ErrandSQLite
#endif

/// The folder of `--cache`. If the folder can't be used, a warning says so, and the request is still sent.
struct CacheFolder {
    private let path: String
    private let cache: CacheMiddleware
    private let store: any CacheStore
    private let showsMessages: Bool

    /// Creates the cache; `nil` without the option.
    ///
    /// - Throws: `ValidationError` if this build has no store on the disk, or if the folder has files that are not of a cache.
    init?(_ arguments: RequestArguments) throws {
        guard let path = arguments.connection.cache else { return nil }
        try Self.checkFiles(of: path)
        (self.path, showsMessages) = (path, arguments.shown.showsMessages)
        let shows = showsMessages
        let store = try Self.store(at: path) { if shows { Terminal.say("errand: warning: --cache: \($0)") } }
        self.store = store
        cache = CacheMiddleware(in: store)
    }

    /// Returns a stack that uses the cache.
    func layer(on stack: HTTPStack) -> HTTPStack { stack.wrapped(by: cache) }

    /// Opens the folder, so that a warning comes before the request.
    func load() async {
        do {
            _ = try await store.usage
        } catch is CancellationError {
            // The interrupt is reported elsewhere.
        } catch {
            if showsMessages { Terminal.say("errand: warning: --cache: the folder '\(path.shownSafely())' can't be used: \(error)") }
        }
    }

    /// Waits until the response is stored, and stale responses are confirmed.
    func finish() async {
        // The transport of an interrupted command stops, and the request in the background with it.
        guard !Interrupt.hasCome else { return }
        await store.finish(within: .seconds(5))
    }

    /// Checks that an existing folder is empty, or has a cache. The store does not use another folder.
    private static func checkFiles(of path: String) throws {
        #if SQLite
        guard SQLiteCacheStore.hasOtherFiles(inFolder: path) else { return }
        throw ValidationError("--cache: the folder '\(path.shownSafely())' has other files. Name a folder for the cache alone")
        #endif
    }

    /// - Throws: `ValidationError` if this build has no store on the disk.
    static func checkBuild() throws {
        #if !SQLite
        throw ValidationError("this build of errand has no cache. Build it with '--traits SQLite'")
        #endif
    }

    /// Returns whether there is a cache in a folder. Creates nothing.
    static func exists(at path: String) -> Bool {
        #if SQLite
        SQLiteCacheStore.exists(inFolder: path)
        #else
        false
        #endif
    }

    /// - Parameter notice: called with an event of the store, such as the removal of a damaged entry.
    /// - Throws: `ValidationError` for an empty path, and if this build has no store on the disk.
    static func store(at path: String, notice: @escaping @Sendable (String) -> Void) throws -> any CacheStore {
        guard !path.isEmpty else { throw ValidationError("the folder of the cache must be a path (is empty)") }
        try checkBuild()
        #if SQLite
        return SQLiteCacheStore(inFolder: path, onEvent: { notice("\($0)") })
        #else
        return MemoryCacheStore()
        #endif
    }
}
