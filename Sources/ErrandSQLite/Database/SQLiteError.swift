#if SQLite
internal import CSQLite
internal import ErrandCore

/// An error of SQLite. The message has no values of the database.
struct SQLiteError: Error, SafelyDescribedError, Hashable {
    /// The extended result code of SQLite.
    let code: Int32
    /// The message of SQLite.
    let message: String

    /// SQLite's code and message: `the database of the cache failed: database or disk is full (SQLite error 13)`.
    var description: String { "the database of the cache failed: \(message) (SQLite error \(code))" }

    private var primaryCode: Int32 { code & 0xFF }

    /// Whether the file is damaged, or is not a database of the expected format.
    var isDamage: Bool {
        [SQLITE_CORRUPT, SQLITE_NOTADB, SQLITE_ERROR, SQLITE_FORMAT, SQLITE_CONSTRAINT, SQLITE_MISMATCH].contains(primaryCode)
            || code == Self.shortRead
    }

    /// Whether the file is no longer at its path, or its folder is gone.
    var isMissing: Bool { primaryCode == SQLITE_CANTOPEN || code == Self.moved }

    // Swift does not import macros with calculations.
    private static let shortRead = SQLITE_IOERR | 2 << 8
    private static let moved = SQLITE_READONLY | 4 << 8

    /// The error for a file that is not a database of the expected format.
    static func unexpectedFormat(_ reason: String) -> SQLiteError { SQLiteError(code: SQLITE_FORMAT, message: reason) }
}
#endif
