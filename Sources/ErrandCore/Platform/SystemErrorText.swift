#if canImport(Glibc)
internal import Glibc
#elseif canImport(Musl)
internal import Musl
#elseif canImport(Darwin)
internal import Darwin
#endif

/// Returns advice for a person after writing a file has failed with an error number of the system. `nil` for most numbers.
func fileWriteAdvice(_ code: Int32) -> String? {
    switch code {
    case ENOSPC, EDQUOT: "Free some space and try again."
    case ENOENT: "Create the folder and try again."
    case EACCES, EPERM, EROFS: "Choose a folder that this program may write to."
    case EEXIST: "Choose another name, or allow the file to be replaced."
    case EISDIR: "Choose the name of a file: this is a folder."
    case ENOTEMPTY: "Choose an empty folder, or a folder that does not exist yet."
    default: nil
    }
}

/// Returns the reason why a file can't be created in a folder. `nil` if the folder is not the cause.
func creationProblem(_ code: Int32, in folder: String) -> String? {
    switch code {
    case ENOENT: "\(folder) does not exist"
    case EACCES, EPERM, EROFS: "cannot create files in \(folder): \(systemErrorText(code))"
    default: nil
    }
}

/// Returns whether an error number of the system (`errno`) says that the device has no network, or no route to the network of an
/// address.
package func isErrorOfOfflineDevice(_ code: Int32) -> Bool { code == ENETDOWN || code == ENETUNREACH }

/// Returns whether an error number of the system (`errno`) says that the disk, or the user's quota, is full.
package func isErrorOfFullDisk(_ code: Int32) -> Bool { code == ENOSPC || code == EDQUOT }

/// Returns the number of this process.
package func currentProcess() -> Int32 { getpid() }

/// Returns the text for an error number of the system (`errno`), such as `connection refused` for `ECONNREFUSED`.
///
/// If this library has no text for a number, the result is the system's text with the number: `level 2 not synchronized (errno 45)`.
package func systemErrorText(_ code: Int32) -> String {
    switch code {
    case ECONNREFUSED: return "connection refused"
    case ECONNRESET: return "connection reset by the server"
    case ECONNABORTED: return "connection aborted"
    case EPIPE: return "connection closed by the server"
    case ENOTCONN: return "not connected"
    case EHOSTUNREACH: return "host unreachable"
    case EHOSTDOWN: return "host is down"
    case ENETUNREACH: return "network unreachable"
    case ENETDOWN: return "network is down"
    case ENETRESET: return "connection reset by the network"
    case ETIMEDOUT: return "no response from the host"
    case EADDRINUSE: return "address already in use"
    case EADDRNOTAVAIL: return "address not available on this machine"
    case EAFNOSUPPORT: return "address family not supported"
    case ENOBUFS, ENOMEM: return "out of memory"
    case EMFILE: return "too many open files in this process"
    case ENFILE: return "too many open files on this system"
    case EACCES: return "permission denied"
    case EPERM: return "operation not permitted"
    case ENOENT: return "no such file or folder"
    case ENOTDIR: return "a part of the path is not a folder"
    case EISDIR: return "it is a folder"
    case EEXIST: return "it exists already"
    case ENOSPC: return "no space left on the disk"
    case EDQUOT: return "disk quota used up"
    case EFBIG: return "file too large"
    case EROFS: return "the disk is read-only"
    case EIO: return "input or output failed"
    case ELOOP: return "too many symbolic links"
    case ENAMETOOLONG: return "file name too long"
    default:
        let text = String(cString: strerror(code))
        return "\(text.prefix(1).lowercased())\(text.dropFirst()) (errno \(code))"
    }
}
