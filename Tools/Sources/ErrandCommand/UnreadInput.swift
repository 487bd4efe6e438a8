import Foundation

/// Data on standard input that the command has not read: `cat note.json | errand :8080/notes` sends GET without a body.
enum UnreadInput {
    /// The warning about data of standard input that is not sent; `nil` if no data waits. The data is not read, so a loop of the shell
    /// keeps its input.
    static var warning: String? {
        guard hasData(0) else { return nil }
        return "warning: the data of standard input was not sent. 'errand post' sends the data; --ignore-stdin hides this warning"
    }

    /// Whether a pipe has data, or a file was not read at all. A file that was read in part belongs to a loop.
    static func hasData(_ descriptor: Int32) -> Bool {
        var status = stat()
        guard fstat(descriptor, &status) == 0 else { return false }
        switch status.st_mode & S_IFMT {
        case S_IFIFO:
            var input = pollfd(fd: descriptor, events: Int16(POLLIN), revents: 0)
            return poll(&input, 1, 0) > 0 && input.revents & Int16(POLLIN) != 0
        case S_IFREG: return status.st_size > 0 && lseek(descriptor, 0, SEEK_CUR) == 0
        default: return false
        }
    }
}
