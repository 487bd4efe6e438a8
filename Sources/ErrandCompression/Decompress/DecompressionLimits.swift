/// Limits that protect against decompression bombs: bodies that are small on the wire and huge when they are decoded.
///
/// The limits apply to bodies that `decompress` decodes. `URLSession` decodes gzip, deflate and Brotli itself, without a limit.
///
/// Two more limits are fixed: the size of the window in Brotli and Zstandard, and 1,000 successive members or frames without content.
public struct DecompressionLimits: Sendable, Hashable {
    /// The default limits: 100 decoded bytes for each received byte, if the body exceeds 1 MiB when it is decoded. The number of decoded
    /// bytes has no other limit. A body has at most 5 codings.
    public static let standard = DecompressionLimits()

    /// The largest number of bytes that each coding of a body may produce: at least 0. `nil`, the default, sets no limit.
    public var limitBytes: Int?
    /// The largest number of decoded bytes for each received byte: 100 by default, at least 1. `nil`: no limit.
    public var maxRatio: Int?
    /// The number of decoded bytes up to which ``maxRatio`` is not checked: 1 MiB by default, at least 0. The threshold is necessary,
    /// because a harmless small body may have a higher ratio.
    public var ratioThresholdBytes: Int
    /// The largest number of content codings of one body: 5 by default, at least 1.
    public var maxCodings: Int

    /// Creates limits.
    ///
    /// - Parameters:
    ///   - limitBytes: the largest number of bytes that each coding may produce: see ``limitBytes``.
    ///   - maxRatio: the largest number of decoded bytes for each received byte: see ``maxRatio``.
    ///   - ratioThresholdBytes: the number of decoded bytes up to which the ratio is not checked: see ``ratioThresholdBytes``.
    ///   - maxCodings: the largest number of content codings of one body: see ``maxCodings``.
    public init(limitBytes: Int? = nil, maxRatio: Int? = 100, ratioThresholdBytes: Int = 1024 * 1024, maxCodings: Int = 5) {
        precondition(limitBytes.map { $0 >= 0 } ?? true, "limitBytes must be at least 0 (is \(limitBytes ?? 0))")
        precondition(maxRatio.map { $0 >= 1 } ?? true, "maxRatio must be at least 1 (is \(maxRatio ?? 0))")
        precondition(ratioThresholdBytes >= 0, "ratioThresholdBytes must be at least 0 (is \(ratioThresholdBytes))")
        precondition(maxCodings >= 1, "maxCodings must be at least 1 (is \(maxCodings))")
        self.limitBytes = limitBytes
        self.maxRatio = maxRatio
        self.ratioThresholdBytes = ratioThresholdBytes
        self.maxCodings = maxCodings
    }

    /// Returns the limit that a body exceeds; `nil` if the body exceeds no limit.
    ///
    /// - Parameters:
    ///   - decoded: the number of bytes that one coding has produced so far.
    ///   - received: the number of bytes of the body that were used so far.
    func exceeded(decoded: Int, received: Int) -> ContentDecodingError.Code? {
        if let limitBytes, decoded > limitBytes { return .tooLarge(limitBytes: limitBytes) }
        guard let maxRatio, decoded > ratioThresholdBytes else { return nil }
        let (allowed, overflow) = received.multipliedReportingOverflow(by: maxRatio)
        return !overflow && decoded > allowed ? .expandsTooMuch(maxRatio: maxRatio) : nil
    }
}
