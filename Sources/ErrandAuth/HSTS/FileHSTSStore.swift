#if Auth
public import ErrandCore

/// A store in a file that only the file's owner can read (mode 0600), in the format of `curl --hsts`.
///
/// Several processes may share the file. The processes write one after the other. If two processes write an entry of the same host, the
/// later entry applies. The empty file `PATH.lock` beside the file is the lock, and is never removed. The file is replaced as a whole:
/// after a crash, the file has the old hosts or the new hosts. If a process is killed during a write, the file `PATH.part` remains, and the
/// next write overwrites `PATH.part`.
///
/// The file has at most 1,000 hosts. If there are more hosts, the hosts with the oldest entries are dropped. The program `curl` reads the
/// file, and may also replace the file. `curl` ignores the lock and the times of the entries. The file reveals which servers the app has
/// used.
public struct FileHSTSStore: HSTSStore, CustomStringConvertible {
    /// The path of the file.
    public var path: String { file.path }
    private let file: LockedPrivateFile
    private let now: @Sendable () -> Date

    /// Creates a store.
    ///
    /// - Parameters:
    ///   - path: the path of the file. The file need not exist. Its folder must exist.
    ///   - clock: the clock that measures the wait for other processes.
    ///   - now: a closure that returns the current date.
    public init(
        atPath path: String, clock: any Clock<Duration> = ContinuousClock(), now: @escaping @Sendable () -> Date = { Date() }
    ) {
        (file, self.now) = (LockedPrivateFile(path, clock: clock), now)
    }

    /// Returns the hosts of the file; an empty array if there is no file.
    ///
    /// - Throws: ``/ErrandCore/FileReadError`` if the file can't be read, has more than 1 MiB, or is not a list of hosts. `FileReadError`
    ///   is also thrown if users other than the owner can read or write the file, and if the path is a symbolic link.
    public func load() async throws -> [HSTSHost] { try hosts(in: try await file.read()) }

    /// Merges entries into the file while no other process writes the file.
    ///
    /// - Throws: the errors of ``load()``; ``/ErrandCore/FileWriteError``, also if the writes of other processes take more than 30 s;
    ///   `CancellationError`.
    public func apply(_ notes: [HSTSHost]) async throws -> [HSTSHost] {
        try await file.change { data in
            let merged = HSTSFile.merged(try hosts(in: data), with: notes, at: HTTPDate(now()))
            return (merged, .replaced(by: Data(HSTSFile.text(of: merged).utf8)))
        }
    }

    private func hosts(in data: Data?) throws(FileReadError) -> [HSTSHost] {
        guard let data else { return [] }
        guard let hosts = HSTSFile.hosts(in: String(decoding: data, as: UTF8.self)) else {
            throw .invalid(path, reason: "it is not a list of hosts in the format of curl --hsts")
        }
        return hosts
    }

    /// `file PATH`.
    public var description: String { file.description }
}
#endif
