internal import ErrandCore
internal import ErrandFormats

/// The content of the file `NAME.errand-part.json`: the description of the bytes in the partial file, and the process that writes them.
///
/// ```json
/// {"process":71,"record":{"bytes":4096,"fileName":"archive.zip","schema":1,"total":8192,"validator":"\"v1\""}}
/// ```
struct DownloadJournal: Sendable, Hashable, Codable {
    /// The reason why octets are not a journal.
    enum Problem: Error, Hashable, CustomStringConvertible {
        /// The octets are more than ``limitBytes``.
        case tooLong
        /// A newer version of the library has written the journal.
        case newerSchema(Int)
        /// The octets are not a journal, or a part of the journal is invalid.
        case invalid

        var description: String {
            switch self {
            case .tooLong: "it has more than \(DownloadJournal.limitBytes.counted("byte"))"
            case .newerSchema(let schema): "a newer version of the library has written it (schema \(schema))"
            case .invalid: "it is not a journal"
            }
        }
    }

    /// The largest number of octets in a journal: 64 KiB.
    static let limitBytes = 64 * 1024

    /// The description of the bytes.
    let record: DownloadResumption
    /// The process that writes the bytes, for the error of another process.
    let process: Int32

    init(_ record: DownloadResumption, process: Int32) { (self.record, self.process) = (record, process) }

    /// Reads the octets of a journal. The octets may come from anywhere.
    init(parsing octets: Data) throws(Problem) {
        guard octets.count <= Self.limitBytes else { throw .tooLong }
        if let schema = (try? Self.coding.decode(Version.self, from: octets))?.record.schema, schema > DownloadResumption.schema {
            throw .newerSchema(schema)
        }
        guard let journal = try? Self.coding.decode(Self.self, from: octets) else { throw .invalid }
        self = journal
    }

    /// The octets of the journal. Journals of any record that ``DownloadRule`` makes can be read again.
    var octets: Data { get throws { try Self.coding.encode(self) } }

    /// Returns the process in a journal whose other parts may be invalid; `nil` if there is no such number.
    static func process(parsing octets: Data) -> Int32? {
        octets.count <= limitBytes ? (try? coding.decode(Owner.self, from: octets))?.process : nil
    }

    private static let coding = JSONCoding()

    /// The part that each version of the library writes.
    private struct Version: Decodable {
        struct Record: Decodable { let schema: Int }
        let record: Record
    }

    private struct Owner: Decodable { let process: Int32 }
}
