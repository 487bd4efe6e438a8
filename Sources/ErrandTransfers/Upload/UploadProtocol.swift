internal import ErrandFormats

/// The protocol by which an upload resumes. The server decides which protocol it supports.
///
/// ```swift
/// let first = Upload(request, from: file, over: stack, by: .tus)
/// let second = Upload(request, from: file, over: stack, by: .resumable())
/// ```
public struct UploadProtocol: Sendable, Hashable, CustomStringConvertible {
    enum Kind: Sendable, Hashable {
        case tus
        case resumable(version: Int)
    }

    let kind: Kind

    /// The protocol [tus 1.0.0](https://tus.io/protocols/resumable-upload). The request of the upload is a POST to the server's URL for
    /// new uploads.
    public static let tus = UploadProtocol(kind: .tus)

    /// The versions of the draft that ``resumable(version:)`` accepts.
    static let resumableVersions: Set<Int> = [6, 8]

    /// The protocol of the [IETF draft for resumable
    /// uploads](https://datatracker.ietf.org/doc/draft-ietf-httpbis-resumable-upload/). The request of the upload is a POST, PUT or
    /// PATCH, as without a resumption.
    ///
    /// - Parameter version: the interoperability version of the draft, 6 or 8. Default: 8. The client sends only this version.
    public static func resumable(version: Int = 8) -> UploadProtocol {
        precondition(resumableVersions.contains(version), "version must be 6 or 8 (is \(version))")
        return UploadProtocol(kind: .resumable(version: version))
    }

    private init(kind: Kind) { self.kind = kind }

    /// Reads the description of a protocol from a journal.
    init?(_ name: String) {
        let known = [.tus] + Self.resumableVersions.map { UploadProtocol(kind: .resumable(version: $0)) }
        guard let found = known.first(where: { $0.description.isExactly(name) }) else { return nil }
        self = found
    }

    /// The name and the version: `tus 1.0.0`, `resumable 8`.
    public var description: String {
        switch kind {
        case .tus: "tus 1.0.0"
        case .resumable(let version): "resumable \(version)"
        }
    }

    var rule: any UploadRule {
        switch kind {
        case .tus: TusRule()
        case .resumable(let version): ResumableRule(version: version)
        }
    }
}
