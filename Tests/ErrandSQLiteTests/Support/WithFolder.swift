#if SQLite
import Foundation
import TestSupport

@testable import ErrandSQLite

/// A seal that changes each octet.
let xor = CacheSealing(
    seal: { Data([7] + $0.map { $0 ^ 0x5A }) },
    open: {
        guard $0.first == 7 else { throw CancellationError() }
        return Data($0.dropFirst().map { $0 ^ 0x5A })
    })

/// Runs the body with the path of a store, which does not exist yet, and with the files of the store.
func withFolder(_ body: (String, StoreFiles) async throws -> Void) async throws {
    let folder = try TestFolder("sqlite-cache")
    let path = folder.file("store")
    try await body(path, StoreFiles(path: path))
}
#endif
