internal import Foundation

/// A disk of a few KiB, which can be filled and made read-only. Linux alone.
///
/// The disk is a `tmpfs` in a mount namespace of its own, which ends with a child process: no mount is left behind, however this
/// process ends.
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
    private let process: Process
    private let (input, output) = (Pipe(), Pipe())

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
        let (folder, process) = (try TestFolder("disk"), Process())
        guard let unshare = Programs.find("unshare") else { throw ProgramFailure(program: "unshare", status: -1, output: "not here") }
        process.executableURL = URL(fileURLWithPath: unshare)
        process.arguments = ["-rm", "/bin/sh", "-c", Self.script, "sh", folder.path, "\(bytes)"]
        (process.standardInput, process.standardOutput, process.standardError) = (input, output, FileHandle.nullDevice)
        for pipe in [input, output] {
            for handle in [pipe.fileHandleForReading, pipe.fileHandleForWriting] { Socket.setCloseOnExec(handle.fileDescriptor) }
        }
        try Socket.withoutBlockedSignals { try process.run() }
        // `unshare` becomes the shell, so the process has the namespace of the disk.
        path = "/proc/\(process.processIdentifier)/root" + folder.path
        (self.folder, self.process) = (folder, process)
        try input.fileHandleForReading.close()
        try output.fileHandleForWriting.close()
        do {
            try waitForShell()
        } catch {
            end()
            throw error
        }
    }

    deinit { end() }

    /// Unmounts the disk.
    public func end() {
        try? input.fileHandleForWriting.close()
        process.waitUntilExit()
    }

    private func waitForShell() throws {
        guard output.fileHandleForReading.availableData == Data("done\n".utf8) else {
            throw ProgramFailure(program: "unshare", status: -1, output: "no mount")
        }
    }

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
        try input.fileHandleForWriting.write(contentsOf: Data((isReadOnly ? "ro\n" : "rw\n").utf8))
        try waitForShell()
    }
}
