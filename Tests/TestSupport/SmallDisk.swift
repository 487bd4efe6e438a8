internal import Foundation

/// A disk of a few KiB, which can be filled and made read-only. Linux alone.
///
/// The disk is a `tmpfs` in the mount namespace of a ``NamespaceShell``.
public final class SmallDisk: Sendable {
    /// Why there are no small disks on this machine; `nil` if there are.
    public static let missing: String? = {
        do {
            try SmallDisk(bytes: 64 * 1024).end()
            return nil
        } catch {
            return "no small disk: this process may not mount one in a namespace of its own (\(error))"
        }
    }()

    /// The path of the disk.
    public let path: String
    private let folder: TestFolder
    private let shell: NamespaceShell

    private static let script = """
        mount -t tmpfs -o "size=$2,mode=755" none "$1" || exit 1
        echo done
        while read -r options; do mount -o "remount,$options" "$1"; echo done; done
        """

    /// Mounts a disk.
    ///
    /// - Parameter bytes: the size; a multiple of 4096.
    /// - Throws: an error if that is not possible here.
    public init(bytes: Int) throws {
        folder = try TestFolder("disk")
        shell = try NamespaceShell("-rm", Self.script, [folder.path, "\(bytes)"])
        path = shell.procPath + "/root" + folder.path
        try shell.wait(for: "mount", expecting: "done")
    }

    deinit { end() }

    /// Unmounts the disk.
    public func end() { shell.end() }

    /// Returns the path of a file on the disk.
    public func file(_ name: String) -> String { path + "/" + name }

    /// The names of the files on the disk.
    public var names: Set<String> { get throws { Set(try FileManager.default.contentsOfDirectory(atPath: path)) } }

    /// Fills the disk with the file `filler`.
    public func fill() throws {
        guard FileManager.default.createFile(atPath: file("filler"), contents: nil),
            let handle = FileHandle(forWritingAtPath: file("filler"))
        else { throw CocoaError(.fileWriteUnknown) }
        defer { try? handle.close() }
        while (try? handle.write(contentsOf: Data(repeating: 1, count: 4096))) != nil {}
    }

    /// Removes the file `filler`.
    public func empty() throws { try FileManager.default.removeItem(atPath: file("filler")) }

    /// Makes the disk read-only, or writable.
    public func setReadOnly(_ isReadOnly: Bool) throws {
        try shell.run(isReadOnly ? "ro" : "rw", expecting: "done")
    }
}
