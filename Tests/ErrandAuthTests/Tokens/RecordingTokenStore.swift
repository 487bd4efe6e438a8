#if Auth
import Errand
import TestSupport

/// Keeps a token, records its calls, and fails as often as the test says.
actor RecordingTokenStore: TokenStore {
    private(set) var token: AccessToken?
    private(set) var log: [String] = []
    private var failingSaves: Int
    private var preparationError: (any Error)?
    private let removalError: (any Error)?

    /// - Parameters:
    ///   - failingSaves: how many saves fail first, with `TestError("full")`.
    ///   - preparationError: the error of `prepareToSave`, until ``allowPreparation()``.
    init(
        _ token: AccessToken? = nil, failingSaves: Int = 0, preparationError: (any Error)? = nil, removalError: (any Error)? = nil
    ) {
        (self.token, self.failingSaves) = (token, failingSaves)
        (self.preparationError, self.removalError) = (preparationError, removalError)
    }

    var saves: Int { log.count { $0 == "save" } }

    func load() -> AccessToken? { token }

    func save(_ token: AccessToken) throws {
        log.append("save")
        if failingSaves > 0 {
            failingSaves -= 1
            throw TestError("full")
        }
        self.token = token
    }

    func remove() throws {
        if let removalError { throw removalError }
        token = nil
    }

    func prepareToSave() throws {
        log.append("prepare")
        if let preparationError { throw preparationError }
    }

    func exclusively(_ work: @Sendable () async throws -> Void) async throws {
        log.append("lock")
        defer { log.append("unlock") }
        try await work()
    }

    func failSaves(_ count: Int) { failingSaves = count }
    func allowPreparation() { preparationError = nil }
    func record(_ event: String) { log.append(event) }
}
#endif
