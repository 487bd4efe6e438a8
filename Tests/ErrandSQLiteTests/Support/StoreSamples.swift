#if SQLite
import ErrandCache
import ErrandCore
import ErrandFormats
import Foundation
import TestSupport
import Testing

@testable import ErrandSQLite

/// Entries whose bodies show which entry they belong to.
enum Samples {
    static func key(_ path: String, account: String? = nil) -> CacheKey {
        let partition = account.map { CacheKey.Partition.account(CredentialIdentity(scheme: "sample", account: $0)) } ?? .none
        return CacheKey(url: url(path), partition: partition)
    }

    static func url(_ path: String) -> HTTPURL {
        do { return try HTTPURL("https://a.example\(path)") } catch { preconditionFailure("path must be valid (is \(path))") }
    }

    /// The head of an entry. The entity tag names the body.
    static func head(
        _ name: String, bytes: Int, at seconds: Double = 0, language: String? = nil, group: String? = nil
    ) -> CacheEntry.Head {
        let selection = CacheSelection(fields: language.map { [.init(name: .acceptLanguage, value: .text($0))] } ?? [])
        var fields: HTTPFields = [.eTag: "\"\(name)\"", .cacheControl: "max-age=3600"]
        if let group, let name = HTTPField.Name("Cache-Groups") { fields[name] = "\"\(group)\"" }
        return CacheEntry.Head(
            response: HTTPResponse(status: .ok, headerFields: fields),
            requestTime: CacheInstant(sinceEpoch: .seconds(1_900_000_000 + seconds), uptime: .seconds(seconds), run: 1),
            responseTime: CacheInstant(sinceEpoch: .seconds(1_900_000_000 + seconds), uptime: .seconds(seconds), run: 1),
            selection: selection, extent: .whole(length: Int64(bytes)))
    }

    /// The body of an entry: its name, again and again.
    static func body(_ name: String, bytes: Int) -> Data {
        var data = Data(capacity: bytes + name.utf8.count + 1)
        let piece = Data("\(name) ".utf8)
        while data.count < min(bytes, 4096) { data.append(piece) }
        while data.count < bytes { data.append(data.prefix(bytes - data.count)) }
        return data.prefix(bytes)
    }

    @discardableResult
    static func add(
        _ name: String, bytes: Int, to store: SQLiteCacheStore, _ key: CacheKey, language: String? = nil, chunkBytes: Int = 50_000
    ) async throws -> CacheEntry.ID {
        let head = head(name, bytes: bytes, language: language)
        let generation = try await store.lookUp(key).generation
        let writer = try await store.makeWriter(for: key, head: head, expectedBytes: nil, since: generation)
        var rest = body(name, bytes: bytes)[...]
        while !rest.isEmpty {
            try await writer.write(Data(rest.prefix(chunkBytes)))
            rest = rest.dropFirst(chunkBytes)
        }
        return try await writer.publish(head, replacing: [])
    }

    static func read(_ entry: CacheEntry, in store: SQLiteCacheStore) async throws -> Data? {
        guard let source = try await store.body(of: entry.id, offsets: 0..<entry.head.extent.storedBytes) else { return nil }
        var data = Data()
        while let chunk = try await source.next() { data.append(chunk) }
        return data
    }

    /// Returns the name of an entry if its body is whole; `nil` if the entry is gone.
    ///
    /// - Throws: `Torn` if the body is not the body that the head names.
    static func check(_ entry: CacheEntry, in store: SQLiteCacheStore) async throws -> String? {
        let name = String((entry.head.response.headerFields[.eTag] ?? "").dropFirst().dropLast())
        guard let data = try await read(entry, in: store) else { return nil }
        guard data == body(name, bytes: Int(entry.head.extent.storedBytes)) else { throw Torn(name: name) }
        return name
    }

    struct Torn: Error { let name: String }
}

extension RecordingList<SQLiteCacheStore.Event> {
    var kinds: [SQLiteCacheStore.Event.Kind] { all.map(\.kind) }
}

/// The files of a store's folder.
struct StoreFiles {
    let path: String

    var bodies: [String] { ((try? FileManager.default.contentsOfDirectory(atPath: path + "/bodies")) ?? []).sorted() }

    var all: [String] {
        ((FileManager.default.enumerator(atPath: path)?.allObjects as? [String]) ?? []).sorted()
    }

    /// Whether this process has a file of the folder open. Known on Linux alone; elsewhere `false`.
    var areOpen: Bool {
        let descriptors = (try? FileManager.default.contentsOfDirectory(atPath: "/proc/self/fd")) ?? []
        return descriptors.contains { name in
            (try? FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/fd/" + name))?.contains(path + "/") == true
        }
    }

    func permissions(_ name: String) -> Int {
        ((try? FileManager.default.attributesOfItem(atPath: path + "/" + name)[.posixPermissions] as? Int) ?? nil) ?? -1
    }

    /// Returns whether any file has these octets.
    func contain(_ text: String) -> Bool {
        all.contains { name in
            guard let data = try? Data(contentsOf: URL(fileURLWithPath: path + "/" + name)) else { return false }
            return data.range(of: Data(text.utf8)) != nil
        }
    }
}
#endif
