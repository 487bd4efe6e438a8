public import Foundation

/// A temporary folder that everybody may read, and that goes when the last reference does, unless somebody else removes it.
public final class TestFolder: Sendable {
    /// How the names of this process's temporary files begin; other runs on the machine have theirs.
    public static let prefix = "errand-\(ProcessInfo.processInfo.processIdentifier)-"

    public let path: String
    private let removesItself: Bool

    public init(_ name: String, removesItself: Bool = true) throws {
        self.removesItself = removesItself
        path = NSTemporaryDirectory() + Self.prefix + "\(name)-\(UUID().uuidString.prefix(8))"
        try FileManager.default.createDirectory(
            atPath: path, withIntermediateDirectories: true, attributes: [.posixPermissions: 0o755])
    }

    deinit { if removesItself { try? FileManager.default.removeItem(atPath: path) } }

    public func file(_ name: String) -> String { path + "/" + name }

    /// Writes a file that everybody may read; its path.
    @discardableResult
    public func write(_ data: Data, to name: String) throws -> String {
        let path = file(name)
        try data.write(to: URL(fileURLWithPath: path))
        try FileManager.default.setAttributes([.posixPermissions: 0o644], ofItemAtPath: path)
        return path
    }

    @discardableResult
    public func write(_ text: String, to name: String) throws -> String { try write(Data(text.utf8), to: name) }

    public func read(_ name: String) throws -> Data { try Data(contentsOf: URL(fileURLWithPath: file(name))) }

    /// A folder in it, which everybody may write in if so asked.
    @discardableResult
    public func folder(_ name: String, writable: Bool = false) throws -> String {
        let path = file(name)
        try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: true)
        try FileManager.default.setAttributes([.posixPermissions: writable ? 0o777 : 0o755], ofItemAtPath: path)
        return path
    }
}
