internal import ErrandCore

/// A snapshot of the process's open resources, which a test must not leave open.
package struct OpenThings: Sendable {
    /// The resources to check.
    package struct Scope: Sendable {
        /// The path prefixes of files that are not reported.
        var ignoring: [String] = []
        var temporaryFolders: [String] = []
        var temporaryPrefixes: [String] = []

        package init(ignoring: [String] = [], temporaryFolders: [String] = [], temporaryPrefixes: [String] = []) {
            (self.ignoring, self.temporaryFolders, self.temporaryPrefixes) = (ignoring, temporaryFolders, temporaryPrefixes)
        }
    }

    /// The number of descriptors of each socket, pipe and file. The key is the system's name for the object: `socket:[123]`,
    /// `/a/path`.
    package let descriptors: [String: Int]
    /// The paths of the entries in the temporary folders.
    let temporaryEntries: Set<String>
    let work: [LiveWork: Int]

    package init(_ scope: Scope = Scope()) {
        work = Dictionary(uniqueKeysWithValues: LiveWork.allCases.map { ($0, $0.count) })
        descriptors = Self.descriptors(ignoring: scope.ignoring)
        temporaryEntries = Set(
            scope.temporaryFolders.flatMap { folder in
                let names = (try? FileManager.default.contentsOfDirectory(atPath: folder)) ?? []
                return names.filter { name in scope.temporaryPrefixes.contains(where: name.hasPrefix) }
                    .map { folder + (folder.hasSuffix("/") ? "" : "/") + $0 }
            })
    }

    /// Returns the descriptors; empty if there is no `/proc`.
    private static func descriptors(ignoring ignored: [String]) -> [String: Int] {
        let folder = "/proc/self/fd"
        let names = (try? FileManager.default.contentsOfDirectory(atPath: folder)) ?? []
        // A descriptor may have been closed since the folder was read. The descriptor of the folder itself was closed.
        let targets = names.compactMap { try? FileManager.default.destinationOfSymbolicLink(atPath: "\(folder)/\($0)") }
        return targets.reduce(into: [:]) { counts, target in
            guard isLookedAt(target), !ignored.contains(where: target.hasPrefix) else { return }
            counts[target, default: 0] += 1
        }
    }

    /// Whether the target is a socket, pipe, file or folder. Devices and the system's own objects (`anon_inode:[eventpoll]`) are
    /// not checked.
    private static func isLookedAt(_ target: String) -> Bool {
        if target.hasPrefix("socket:") || target.hasPrefix("pipe:") { return true }
        return target.hasPrefix("/") && !["/dev/", "/proc/", "/sys/", "/memfd:"].contains(where: target.hasPrefix)
    }

    /// Returns whether a new resource is open.
    package func isMore(than before: OpenThings) -> Bool {
        !newDescriptors(since: before).isEmpty || !temporaryEntries.isSubset(of: before.temporaryEntries)
            || work.contains { $0.value > before.work[$0.key] ?? 0 }
    }

    private func newDescriptors(since before: OpenThings) -> [(target: String, count: Int)] {
        descriptors.compactMap { target, count in
            let new = count - (before.descriptors[target] ?? 0)
            return new > 0 ? (target, new) : nil
        }.sorted { $0.target < $1.target }
    }

    /// Returns a phrase for each resource that was not open before.
    package func describeMore(than before: OpenThings) -> [String] {
        let new = newDescriptors(since: before)
        let sockets = new.contains { $0.target.hasPrefix("socket:") } ? SocketTable() : nil
        var all = new.map { target, count -> String in
            let times = count > 1 ? ", \(count) times" : ""
            if target.hasPrefix("socket:") { return (sockets?.description(of: target) ?? "a socket") + times }
            return (target.hasPrefix("pipe:") ? "a \(target)" : "the open file \(target)") + times
        }
        all += temporaryEntries.subtracting(before.temporaryEntries).sorted().map { "the temporary file \($0)" }
        for kind in LiveWork.allCases {
            let count = (work[kind] ?? 0) - (before.work[kind] ?? 0)
            guard count > 0 else { continue }
            switch kind {
            case .exchange: all.append(count == 1 ? "an exchange that has not ended" : "\(count) exchanges that have not ended")
            case .flight: all.append(count == 1 ? "a single flight in progress" : "\(count) single flights in progress")
            }
        }
        return all
    }
}
