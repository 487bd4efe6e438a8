public import Foundation

/// A temporary folder that all users may read. It is removed with the last reference to this value, unless something else removes it.
public final class TestFolder: Sendable {
    /// The prefix of the names of this process's temporary files. It is different for each process.
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

    /// Returns the path of a file in the folder.
    public func file(_ name: String) -> String { path + "/" + name }

    /// Writes a file that all users may read, and returns its path.
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

    /// Creates a subfolder; if `writable`, all users may write in it. Returns its path.
    @discardableResult
    public func folder(_ name: String, writable: Bool = false) throws -> String {
        let path = file(name)
        try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: true)
        try FileManager.default.setAttributes([.posixPermissions: writable ? 0o777 : 0o755], ofItemAtPath: path)
        return path
    }
}
