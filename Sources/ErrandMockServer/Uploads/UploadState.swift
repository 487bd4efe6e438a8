#if MockServer
internal import Crypto
internal import ErrandCore
internal import ErrandFormats

/// The SHA-256 of content that grows.
struct ContentHash: Sendable {
    private var hash = SHA256()

    mutating func update(_ data: Data) { hash.update(data: data) }

    var digits: String { hex(hash.finalize()) }
}

/// The uploads of a server, and the decisions about their content.
struct UploadState: Sendable {
    /// The result of a piece of content.
    enum Piece {
        case kept(offset: Int)
        /// The connection ends, with the reason.
        case ends(String)
        /// The request is refused.
        case refused(UploadRefusal)
    }

    var limits: MockUploads.Limits
    var uploads: [MockUploads.Upload] = []
    /// For each upload, the request that sends content. The number of the request invalidates earlier requests.
    private var senders: [Int: (number: Int, body: IncomingBody?)] = [:]
    /// The cuts for the next requests.
    var cuts: [Int] = []

    init(limits: MockUploads.Limits) { self.limits = limits }

    func index(of resourcePath: String) -> Int? {
        uploads.lastIndex { $0.isActive && $0.resourcePath?.isExactly(resourcePath) == true }
    }

    /// Makes `body` the only request that may add content; `nil` if no request may. Returns the earlier request, whose connection must end.
    mutating func setSender(_ body: IncomingBody?, of index: Int) -> (number: Int, earlier: IncomingBody?) {
        let earlier = senders[index]
        let number = (earlier?.number ?? 0) + 1
        senders[index] = (number, body)
        return (number, earlier?.body)
    }

    /// Forgets the request that sends the content of an upload, unless a later request now sends the content.
    ///
    /// - Parameter number: the number of the request, which ``setSender(_:of:)`` has returned.
    mutating func removeSender(_ number: Int, of index: Int) {
        if senders[index]?.number == number { senders[index]?.body = nil }
    }

    /// Checks the size of one request's content before the content is read, and records the announced size of the upload.
    ///
    /// - Parameter content: the size of the content; `nil` if unknown.
    mutating func check(_ index: Int, content: Int?, completes: Bool, uploadLength: Int?) -> UploadRefusal? {
        let upload = uploads[index]
        let remaining = completes ? content.map { $0 + upload.offset } : nil
        let lengths = [upload.length, remaining, uploadLength].compactMap(\.self)
        if let first = lengths.first, lengths.contains(where: { $0 != first }) { return .inconsistentLength }
        if let length = lengths.first, length < upload.offset { return .inconsistentLength }
        let isCreation = upload.length == nil && upload.offset == 0
        if let most = limits.maxSizeBytes, (lengths.first ?? 0) > most { return .tooLarge }
        if let least = limits.minSizeBytes, isCreation, lengths.first.map({ $0 < least }) ?? true { return .tooSmall("min-size") }
        if let most = limits.maxAppendBytes, let content, content > most { return .tooLarge }
        if let least = limits.minAppendBytes, !completes, let content, content < least, content > 0 || !isCreation {
            return .tooSmall("min-append-size")
        }
        uploads[index].length = lengths.first
        return nil
    }

    /// Adds a piece of content.
    ///
    /// - Parameters:
    ///   - sender: the number of the request that sends the content.
    ///   - received: the number of bytes that the same request has added before.
    ///   - cut: the number of bytes of the request after which the connection ends.
    mutating func add(_ data: Data, to index: Int, sender: Int, received: Int, cut: Int?) -> Piece {
        guard senders[index]?.number == sender, uploads[index].isActive else { return .ends("a later request ended this request") }
        if let most = limits.maxAppendBytes, received + data.count > most { return .refused(.tooLarge) }
        let kept = cut.map { data.prefix(max(0, $0 - received)) } ?? data
        if let length = uploads[index].length, uploads[index].offset + kept.count > length {
            uploads[index].isActive = false
            return .refused(.inconsistentLength)
        }
        if let most = limits.maxSizeBytes, uploads[index].offset + kept.count > most {
            uploads[index].isActive = false
            return .refused(.tooLarge)
        }
        uploads[index].offset += kept.count
        uploads[index].hash.update(kept)
        uploads[index].content.append(kept.prefix(MockUploads.Upload.keptBytes - uploads[index].content.count))
        if let cut, received + kept.count >= cut { return .ends("the connection was cut after \(cut) bytes of content") }
        return .kept(offset: uploads[index].offset)
    }
}
#endif
