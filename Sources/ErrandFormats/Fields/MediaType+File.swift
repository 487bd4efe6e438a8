extension MediaType {
    /// Returns the media type of the first name whose extension is known. If no extension is known, returns
    /// `application/octet-stream`.
    package static func essence(forFileNamed fileNames: String...) -> String {
        for name in fileNames {
            let last = name.utf8.split(separator: UInt8(ascii: "."), omittingEmptySubsequences: false).dropFirst().last
            if let last, last.count <= 8, let known = byExtension[Substring(last).lowercased()] { return known }
        }
        return "application/octet-stream"
    }

    private static let byExtension = [
        "avif": "image/avif", "csv": "text/csv", "gif": "image/gif", "gz": "application/gzip", "heic": "image/heic", "htm": "text/html",
        "html": "text/html", "jpeg": "image/jpeg", "jpg": "image/jpeg", "json": "application/json", "m4a": "audio/mp4",
        "mov": "video/quicktime", "mp3": "audio/mpeg", "mp4": "video/mp4", "pdf": "application/pdf", "png": "image/png",
        "svg": "image/svg+xml", "tif": "image/tiff", "tiff": "image/tiff", "txt": "text/plain", "wav": "audio/wav", "webm": "video/webm",
        "webp": "image/webp", "xml": "application/xml", "zip": "application/zip",
    ]
}
