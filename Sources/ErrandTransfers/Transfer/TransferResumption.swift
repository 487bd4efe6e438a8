/// The description of an unfinished transfer, from which a later call continues.
///
/// ```swift
/// do {
///     file = try await download.file()
/// } catch let error as TransferError {
///     if case .download(let resumption)? = error.resumption { saved = try JSONEncoder().encode(resumption) }
///     throw error
/// }
/// ```
public enum TransferResumption: Sendable, Hashable, CustomStringConvertible {
    /// The description of an unfinished ``Download``.
    case download(DownloadResumption)
    /// The description of an unfinished ``Upload``.
    case upload(UploadResumption)

    /// The number of transferred bytes from which the transfer continues.
    public var bytes: Int64 {
        switch self {
        case .download(let resumption): resumption.bytes
        case .upload(let resumption): resumption.bytes
        }
    }

    /// The length of the whole content in bytes; `nil` if the length is not known.
    public var total: Int64? {
        switch self {
        case .download(let resumption): resumption.total
        case .upload(let resumption): resumption.total
        }
    }

    /// Whether the transfer can continue after ``bytes``. If false, the next run starts from the first byte.
    public var canContinue: Bool {
        switch self {
        case .download(let resumption): resumption.canContinue
        case .upload(let resumption): resumption.canContinue
        }
    }

    /// The description of the bytes: `archive.zip, 4096 of 8192 bytes, can continue`. The text contains no secrets.
    public var description: String {
        switch self {
        case .download(let resumption): resumption.description
        case .upload(let resumption): resumption.description
        }
    }
}
