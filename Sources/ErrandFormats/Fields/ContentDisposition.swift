/// The value of a `Content-Disposition` field ([RFC 6266](https://www.rfc-editor.org/rfc/rfc6266)), of a response or of a part of a form.
///
/// ```swift
/// let disposition = ContentDisposition("attachment; filename=\"EURO rates\"; filename*=UTF-8''%e2%82%ac%20rates")
/// disposition?.type               // "attachment"
/// disposition?.fileName           // "€ rates"
/// ContentDisposition("attachment; filename=\"../../etc/passwd\"")?.safeFileName()     // "passwd"
/// ```
public struct ContentDisposition: Sendable, Hashable, CustomStringConvertible {
    /// The longest result of ``safeFileName(default:)``, in bytes of UTF-8.
    public static let safeFileNameLimitBytes = 200

    /// The type in lower case: `attachment`, `inline` or `form-data`.
    public let type: String
    /// The name of a form's field ([RFC 7578, section 4.2](https://www.rfc-editor.org/rfc/rfc7578#section-4.2)); `nil` if the
    /// parameter is missing.
    public let name: String?
    /// The name that the sender gives the file; `nil` if the sender gives no name. The sender may choose any text: to save a file, use
    /// ``safeFileName(default:)``.
    public let fileName: String?

    /// Creates a value.
    ///
    /// - Parameters:
    ///   - type: the disposition, a token such as `attachment`.
    ///   - name: the name of a form's field. Default: `nil`.
    ///   - fileName: the name of the file. Default: `nil`.
    public init(type: String, name: String? = nil, fileName: String? = nil) {
        (self.type, self.name, self.fileName) = (type.lowercased(), name, fileName)
    }

    /// Reads a field's value; `nil` if the value has no type, or is longer than 8 KiB.
    ///
    /// `filename*` ([RFC 8187](https://www.rfc-editor.org/rfc/rfc8187)) takes precedence over `filename`, unless `filename*` is
    /// invalid. If several parameters have the same name, the first parameter is used. Parameters after an invalid parameter
    /// are left out. A backslash is data unless a quotation mark or another backslash follows it.
    public init?(_ text: some StringProtocol) {
        guard text.utf8.count <= FieldLimits.valueBytes else { return nil }
        var reader = FieldReader(text)
        reader.skip(\.isOptionalSpace)
        guard let type = reader.token() else { return nil }
        reader.skip(\.isOptionalSpace)
        guard reader.next == nil || reader.next == UInt8(ascii: ";") else { return nil }
        let parameters = reader.semicolonParameters(keepingBackslashes: true)
        self.init(type: type, name: parameters["name"], fileName: parameters.extendedValue(of: "filename"))
    }

    /// Returns the file's name in a form that is safe for saving a file in a folder that you choose.
    ///
    /// The name changes as follows:
    /// - Only the last path component stays. Both `/` and `\` are separators.
    /// - Control characters, characters that change the direction of text, and invisible characters are removed.
    /// - Dots and spaces at the beginning and at the end are removed.
    /// - The characters `:*?"<>|` become `_`, because some file systems refuse these characters.
    /// - A name of more than 200 bytes is shortened, and the extension stays.
    ///
    /// The result is never empty, `.` or `..`. Names that are reserved only on Windows, such as `NUL.txt`, stay unchanged.
    ///
    /// - Parameter name: the name that is used if no character of the file's name is left. The same changes apply to `name`.
    ///   The default is `download`, which is also used if no character of `name` is left.
    public func safeFileName(default name: String = "download") -> String {
        Self.safeFileName(fileName ?? "") ?? Self.safeFileName(name) ?? "download"
    }

    private static func safeFileName(_ name: String) -> String? {
        let last = name.unicodeScalars.split(omittingEmptySubsequences: false) { scalar in scalar == "/" || scalar == "\\" }.last ?? .init()
        var scalars: [Unicode.Scalar] = []
        for scalar in last {
            switch scalar.properties.generalCategory {
            case .control, .lineSeparator, .paragraphSeparator, .surrogate, .unassigned, .privateUse: continue
            // Characters that change the direction of text, or have no width, can make a name look like a different name.
            case .format: continue
            case _ where scalar.properties.isDefaultIgnorableCodePoint: continue
            default: scalars.append(":*?\"<>|".unicodeScalars.contains(scalar) ? "_" : scalar)
            }
        }
        let kept = trimmedAtEnd(scalars.drop { isTrimmed($0) || $0.properties.generalCategory == .nonspacingMark })
        guard !kept.isEmpty else { return nil }
        return shortened(kept, toBytes: safeFileNameLimitBytes)
    }

    private static func isTrimmed(_ scalar: Unicode.Scalar) -> Bool { scalar == "." || scalar.properties.isWhitespace }

    private static func trimmedAtEnd(_ scalars: ArraySlice<Unicode.Scalar>) -> ArraySlice<Unicode.Scalar> {
        var kept = scalars
        while let last = kept.last, isTrimmed(last) { kept.removeLast() }
        return kept
    }

    /// Shortens the name before its extension, so that the extension stays.
    private static func shortened(_ name: ArraySlice<Unicode.Scalar>, toBytes limit: Int) -> String {
        func text(_ scalars: ArraySlice<Unicode.Scalar>) -> String { String(String.UnicodeScalarView(scalars)) }
        let whole = text(name)
        guard whole.utf8.count > limit else { return whole }
        let dot = name.lastIndex { scalar in scalar == "." } ?? name.endIndex
        var suffix = text(name[dot...])
        var stem = name[..<dot]
        if suffix.utf8.count > 32 { (suffix, stem) = ("", name) }
        var length = suffix.utf8.count
        var end = stem.startIndex
        while end < stem.endIndex, length + UTF8.width(stem[end]) <= limit {
            length += UTF8.width(stem[end])
            end += 1
        }
        // If the name has no extension, the shortened name can end in a dot or a space.
        return suffix.isEmpty ? text(trimmedAtEnd(stem[..<end])) : text(stem[..<end]) + suffix
    }

    /// The field's value. A file's name that is not ASCII is written twice: as an ASCII `filename` for old readers, then as
    /// `filename*`.
    ///
    /// Control characters in quoted names become `_`, because a field can't contain control characters.
    public var description: String {
        func quoted(_ text: String) -> String { text.escapingOctets(Self.controls) { _ in "_" }.quotedString }
        var text = type
        if let name { text += "; name=" + quoted(name) }
        guard let fileName else { return text }
        guard !fileName.utf8.allSatisfy({ $0 < 0x80 }) else { return text + "; filename=" + quoted(fileName) }
        let fallback = String(String.UnicodeScalarView(fileName.unicodeScalars.map { $0.isASCII ? $0 : "_" }))
        return text + "; filename=" + quoted(fallback) + "; filename*=" + ExtendedValue.encode(fileName)
    }

    private static let controls = ByteSet { $0 < 0x20 || $0 == 0x7F }
}
