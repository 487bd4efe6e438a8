#if Auth
import ErrandAuth
import ErrandStoreConformance
import TestSupport
import Testing

@Suite(.timeLimit(.minutes(5))) struct TokenStoreTests {
    @Test(arguments: TokenStoreBehavior.all) func theStoreInMemoryConforms(to behavior: TokenStoreBehavior) async throws {
        try await behavior.check { MemoryTokenStore() }
    }

    @Test(arguments: TokenStoreBehavior.all + TokenStoreBehavior.shared)
    func theFileConforms(to behavior: TokenStoreBehavior) async throws {
        let folder = try TestFolder("tokens")
        let path = folder.file("token.json")
        try await behavior.check { FileTokenStore(atPath: path) }
    }
}
#endif
