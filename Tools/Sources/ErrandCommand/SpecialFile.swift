import Errand
import Foundation

/// A path that leads to a device, a pipe or a socket.
enum SpecialFile {
    static func exists(at path: String) -> Bool {
        var status = stat()
        return stat(path, &status) == 0 && ![S_IFREG, S_IFDIR].contains(status.st_mode & S_IFMT)
    }

    /// Opens the file for writing while `body` runs.
    static func withDescriptor<Value>(_ path: String, _ body: (_ descriptor: Int32) async throws -> Value) async throws -> Value {
        let descriptor = open(path, O_WRONLY | O_CLOEXEC)
        guard descriptor >= 0 else { throw FileWriteError(path: path, operation: "write", code: errno) }
        defer { _ = close(descriptor) }
        return try await body(descriptor)
    }
}
