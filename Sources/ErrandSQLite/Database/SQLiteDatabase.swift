#if SQLite
internal import CSQLite
internal import ErrandCore

/// A connection to a database of the system's SQLite. All calls block, and only one thread at a time may use the connection.
///
/// ```swift
/// let database = try SQLiteDatabase(path: path)
/// try database.run("INSERT INTO names VALUES (?, ?)", .integer(1), .octets(name))
/// let names = try database.rows("SELECT name FROM names") { $0.octets(0) }
/// ```
///
/// The prepared statement of each text is kept until the connection is closed. Therefore, the texts must be constant.
final class SQLiteDatabase {
    /// A value of a parameter.
    enum Value {
        case null
        case integer(Int64)
        case octets(Data)

        static func octets(_ octets: [UInt8]) -> Value { .octets(Data(octets)) }
        static func octets(_ octets: [UInt8]?) -> Value { octets.map { .octets(Data($0)) } ?? .null }
        static func number(_ number: Int64?) -> Value { number.map { .integer($0) } ?? .null }
    }

    /// The current row of a statement.
    struct Row {
        fileprivate let statement: OpaquePointer

        /// Returns whether a column is null.
        func isNull(_ column: Int32) -> Bool { sqlite3_column_type(statement, column) == SQLITE_NULL }
        /// Returns the number in a column; 0 for null.
        func integer(_ column: Int32) -> Int64 { sqlite3_column_int64(statement, column) }
        /// Returns a copy of the octets in a column; empty for null.
        func octets(_ column: Int32) -> Data {
            guard let bytes = sqlite3_column_blob(statement, column) else { return Data() }
            return Data(bytes: bytes, count: Int(sqlite3_column_bytes(statement, column)))
        }
        /// Returns the text in a column; empty for null.
        func text(_ column: Int32) -> String { sqlite3_column_text(statement, column).map { String(cString: $0) } ?? "" }
    }

    private let handle: OpaquePointer
    private var statements: [String: OpaquePointer] = [:]

    /// Opens an existing file, which may be empty.
    ///
    /// - Throws: `SQLiteError`.
    init(path: String) throws(SQLiteError) {
        var opened: OpaquePointer?
        let code = sqlite3_open_v2(path, &opened, SQLITE_OPEN_READWRITE | SQLITE_OPEN_NOMUTEX, nil)
        guard let opened else { throw SQLiteError(code: code, message: "out of memory") }
        guard code == SQLITE_OK else {
            let error = SQLiteError(code: code, message: Self.message(of: opened))
            sqlite3_close_v2(opened)
            throw error
        }
        handle = opened
        _ = sqlite3_extended_result_codes(handle, 1)
        setBusyTimeout()
    }

    /// Sets the longest wait for the locks of other connections. Default: 10 s.
    func setBusyTimeout(milliseconds: Int32 = 10_000) { _ = sqlite3_busy_timeout(handle, milliseconds) }

    deinit {
        for statement in statements.values { sqlite3_finalize(statement) }
        sqlite3_close_v2(handle)
    }

    private static func message(of handle: OpaquePointer) -> String { sqlite3_errmsg(handle).map { String(cString: $0) } ?? "" }

    private func failure(_ code: Int32) -> SQLiteError { SQLiteError(code: code, message: Self.message(of: handle)) }

    /// Keeps the write-ahead log when the last connection is closed.
    ///
    /// SQLite removes the log by its path. If the database was replaced in the meantime, the log at this path belongs to another file.
    func keepLogAtClose() {
        var isKept: Int32 = 1
        _ = sqlite3_file_control(handle, nil, SQLITE_FCNTL_PERSIST_WAL, &isKept)
    }

    // MARK: Statements

    private func prepared(_ text: String) throws(SQLiteError) -> OpaquePointer {
        if let statement = statements[text] { return statement }
        var statement: OpaquePointer?
        let code = sqlite3_prepare_v3(handle, text, -1, UInt32(SQLITE_PREPARE_PERSISTENT), &statement, nil)
        guard code == SQLITE_OK, let statement else { throw failure(code) }
        statements[text] = statement
        return statement
    }

    private func bind(_ values: [Value], to statement: OpaquePointer) throws(SQLiteError) {
        // SQLite copies the octets.
        let copies = unsafeBitCast(-1, to: sqlite3_destructor_type.self)
        for (index, value) in values.enumerated() {
            let position = Int32(index + 1)
            let code =
                switch value {
                case .null: sqlite3_bind_null(statement, position)
                case .integer(let number): sqlite3_bind_int64(statement, position, number)
                case .octets(let octets) where octets.isEmpty: sqlite3_bind_zeroblob(statement, position, 0)
                case .octets(let octets):
                    octets.withUnsafeBytes { sqlite3_bind_blob64(statement, position, $0.baseAddress, UInt64($0.count), copies) }
                }
            guard code == SQLITE_OK else { throw failure(code) }
        }
    }

    /// Carries out a statement. Returns the rows.
    ///
    /// - Throws: `SQLiteError`; the errors of `read`.
    func rows<Result>(_ text: String, _ values: Value..., read: (Row) throws -> Result) throws -> [Result] {
        let statement = try prepared(text)
        defer {
            sqlite3_reset(statement)
            sqlite3_clear_bindings(statement)
        }
        try bind(values, to: statement)
        var results: [Result] = []
        while true {
            let code = sqlite3_step(statement)
            if code == SQLITE_DONE { return results }
            guard code == SQLITE_ROW else { throw failure(code) }
            results.append(try read(Row(statement: statement)))
        }
    }

    /// Carries out a statement without rows.
    ///
    /// - Returns: the number of changed rows.
    /// - Throws: `SQLiteError`.
    @discardableResult
    func run(_ text: String, _ values: Value...) throws(SQLiteError) -> Int {
        let statement = try prepared(text)
        defer {
            sqlite3_reset(statement)
            sqlite3_clear_bindings(statement)
        }
        try bind(values, to: statement)
        while true {
            let code = sqlite3_step(statement)
            if code == SQLITE_DONE { return Int(sqlite3_changes(handle)) }
            // The rows of a pragma are ignored.
            guard code == SQLITE_ROW else { throw failure(code) }
        }
    }

    /// Carries out several statements without parameters and rows, separated by semicolons.
    ///
    /// - Throws: `SQLiteError`.
    func runAll(_ texts: String) throws(SQLiteError) {
        let code = sqlite3_exec(handle, texts, nil, nil, nil)
        guard code == SQLITE_OK else { throw failure(code) }
    }

    /// The number of the row that was inserted last.
    var lastInsertedRow: Int64 { sqlite3_last_insert_rowid(handle) }

    /// Carries out `work` as one step: either all of its changes become visible, or no change.
    ///
    /// The step begins when no other connection writes.
    ///
    /// - Throws: `SQLiteError`; the errors of `work`.
    func transaction<Result>(_ work: () throws -> Result) throws -> Result {
        try run("BEGIN IMMEDIATE")
        do {
            let result = try work()
            try run("COMMIT")
            return result
        } catch {
            // After some errors, SQLite has ended the transaction already.
            if sqlite3_get_autocommit(handle) == 0 { _ = try? run("ROLLBACK") }
            throw error
        }
    }

    /// The number of the format, which the app chooses; 0 in a new database.
    var userVersion: Int64 { get throws { try rows("PRAGMA user_version") { $0.integer(0) }.first ?? 0 } }
}
#endif
