public import ErrandCore

/// A content coding for the bodies of requests. The server must support the coding.
///
/// ```swift
/// request.options.compressRequests = .gzip
/// ```
public struct RequestCompression: Sendable, Hashable, CustomStringConvertible {
    /// The coding `gzip` ([RFC 1952](https://www.rfc-editor.org/rfc/rfc1952)), the most widely supported coding.
    public static let gzip = RequestCompression(coding: .gzip)
    /// The coding `deflate`, in the format of zlib ([RFC 1950](https://www.rfc-editor.org/rfc/rfc1950)).
    public static let deflate = RequestCompression(coding: .deflate)
    #if Brotli
    /// The coding `br` ([RFC 7932](https://www.rfc-editor.org/rfc/rfc7932)). Requires the package's trait `Brotli`.
    public static let brotli = RequestCompression(coding: .brotli)
    #endif
    #if Zstandard
    /// The coding `zstd` ([RFC 8878](https://www.rfc-editor.org/rfc/rfc8878)). Requires the package's trait `Zstandard`.
    public static let zstandard = RequestCompression(coding: .zstandard)
    #endif

    let coding: ContentCoding

    /// The name of the coding, as in `Content-Encoding`: `gzip`.
    public var description: String { coding.rawValue }
}

extension OptionOverride where Value == RequestCompression {
    /// Compresses the body with gzip: `request.options.compressRequests = .gzip`.
    public static var gzip: Self { .use(.gzip) }
    /// Compresses the body with deflate.
    public static var deflate: Self { .use(.deflate) }
    #if Brotli
    /// Compresses the body with Brotli.
    public static var brotli: Self { .use(.brotli) }
    #endif
    #if Zstandard
    /// Compresses the body with Zstandard.
    public static var zstandard: Self { .use(.zstandard) }
    #endif
}
