extension MediaType {
    /// The media type that the extension of a file's name stands for; `application/octet-stream` for one that is not in the table.
    package static func name(ofFile fileName: String) -> String {
        let last = fileName.utf8.split(separator: UInt8(ascii: "."), omittingEmptySubsequences: false).dropFirst().last
        return last.flatMap { $0.count <= 8 ? byExtension[Substring($0).lowercased()] : nil } ?? "application/octet-stream"
    }

    private static let byExtension = [
        "avif": "image/avif", "csv": "text/csv", "gif": "image/gif", "gz": "application/gzip", "heic": "image/heic", "htm": "text/html",
        "html": "text/html", "jpeg": "image/jpeg", "jpg": "image/jpeg", "json": "application/json", "m4a": "audio/mp4",
        "mov": "video/quicktime", "mp3": "audio/mpeg", "mp4": "video/mp4", "pdf": "application/pdf", "png": "image/png",
        "svg": "image/svg+xml", "tif": "image/tiff", "tiff": "image/tiff", "txt": "text/plain", "wav": "audio/wav", "webm": "video/webm",
        "webp": "image/webp", "xml": "application/xml", "zip": "application/zip",
    ]
}
