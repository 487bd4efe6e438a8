import Errand
import Foundation

/// The files of a download: the finished file, and the partial file with its journal.
struct DownloadTarget: Sendable, Equatable {
    /// The path of the file, unless the response names the file.
    let path: String
    /// Whether the name of a response is ignored, because `--output` has named the file.
    let isNamed: Bool

    var name: String { Self.name(of: path) }
    var partPath: String { path + ".errand-part" }
    var journalPath: String { partPath + ".json" }
    var url: URL { URL(fileURLWithPath: path) }

    static func name(of path: String) -> String { URL(fileURLWithPath: path).lastPathComponent }

    /// The path of another file in the same folder.
    func sibling(named name: String) -> String {
        let folder = path.utf8.lastIndex(of: UInt8(ascii: "/")).map { String(path.utf8[...$0]) ?? "" } ?? ""
        return folder + name
    }

    /// The name of the file of a URL: the last part of its path, in a form that is safe for a file; `download` if the path has no name.
    static func name(of url: HTTPURL) -> String {
        let path = url.path
        let last = String(path[(path.utf8.lastIndex(of: UInt8(ascii: "/")).map(path.utf8.index(after:)) ?? path.startIndex)...])
        return ContentDisposition(type: "attachment", fileName: last.removingPercentEncoding ?? last).safeFileName()
    }

    /// The name of the file that a response suggests, in a form that is safe for a file; `nil` if the response suggests no name.
    static func name(of fields: HTTPFields) -> String? {
        guard let disposition = fields[values: .contentDisposition].first.flatMap({ ContentDisposition($0) }),
            disposition.fileName?.isEmpty == false
        else { return nil }
        return disposition.safeFileName()
    }

    // MARK: - The start

    /// The decision about the files on the disk before a download.
    enum Start: Equatable {
        case download
        /// The partial file of an earlier run is removed first.
        case discard
        /// With `-C`: the file is there.
        case skip
        case refuseExisting
        /// The number of bytes of the partial file.
        case refusePart(Int64)
    }

    /// - Parameters:
    ///   - partBytes: the length of the partial file, zero if there is none.
    ///   - continues: whether `-C` is set.
    ///   - replaces: whether `--force` is set.
    static func start(fileExists: Bool, partBytes: Int64, continues: Bool, replaces: Bool) -> Start {
        if partBytes > 0 {
            if fileExists, !replaces { return .refuseExisting }
            return continues ? .download : replaces ? .discard : .refusePart(partBytes)
        }
        guard fileExists, !replaces else { return .download }
        return continues ? .skip : .refuseExisting
    }

    /// The decision for the files of this target.
    func start(continues: Bool, replaces: Bool) -> Start {
        Self.start(fileExists: Self.exists(path), partBytes: partBytes, continues: continues, replaces: replaces)
    }

    /// The length of the partial file; zero if there is none.
    var partBytes: Int64 {
        var status = stat()
        return lstat(partPath, &status) == 0 ? Int64(status.st_size) : 0
    }

    /// Whether a path names a file, a folder, or a symbolic link.
    static func exists(_ path: String) -> Bool {
        var status = stat()
        return lstat(path, &status) == 0
    }

    /// Gives the finished file another name.
    ///
    /// - Throws: ``ExistingFile``, `FileWriteError`.
    func rename(to other: String, replaces: Bool) throws {
        if !replaces {
            if link(path, other) == 0 {
                _ = unlink(path)
                return
            }
            guard errno != EEXIST else { throw ExistingFile(path: other, downloaded: path) }
            // Some file systems have no links.
            guard !Self.exists(other) else { throw ExistingFile(path: other, downloaded: path) }
        }
        guard Foundation.rename(path, other) == 0 else { throw FileWriteError(path: other, operation: "write", code: errno) }
    }
}

/// The file of a download exists.
struct ExistingFile: Error, CustomStringConvertible {
    let path: String
    /// The path of the finished download, if the file appeared while the download was in progress.
    var downloaded: String?
    /// Whether another download of the same command writes the file.
    var isOfThisCommand = false

    var description: String {
        let shown = path.shownSafely()
        if isOfThisCommand { return "another URL of this command has the same file '\(shown)'. Download it alone, with --output FILE" }
        if let downloaded { return "'\(shown)' exists, so the downloaded file keeps the name '\(downloaded.shownSafely())'" }
        return "'\(shown)' exists. --force replaces the file, and --output FILE chooses another name"
    }
}
