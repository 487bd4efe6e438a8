import ArgumentParser
import Errand
import Foundation

extension MultipartForm {
    /// The form of the options `-F`.
    ///
    /// - Parameter arguments: each `name=TEXT[;type=TYPE]`, `name=@FILE[;type=TYPE][;filename=NAME]`, which sends a file, or
    ///   `name=<FILE[;type=TYPE]`, which sends the content of a file as a text. The file `-` is standard input, for at most one
    ///   argument. A file, a name or a text that contains a semicolon needs quotation marks around it. Within them, a backslash
    ///   precedes each quotation mark and backslash. A text without quotation marks keeps its semicolons, except the semicolon of `;type=`.
    /// - Throws: `ValidationError`; `FileReadError` if the file after `<` is missing.
    init(arguments: [String]) throws {
        self.init()
        guard try arguments.count(where: Self.readsStandardInput) <= 1 else {
            throw ValidationError("--form can read standard input for one part only")
        }
        for argument in arguments {
            guard let equals = argument.unicodeScalars.firstIndex(of: "="), equals != argument.startIndex else {
                throw ValidationError("--form must be name=value, name=@FILE or name=<FILE")
            }
            append(String(argument[..<equals]), try Self.content(argument[argument.unicodeScalars.index(after: equals)...]))
        }
    }

    private static func readsStandardInput(_ argument: String) throws -> Bool {
        guard let equals = argument.unicodeScalars.firstIndex(of: "=") else { return false }
        let value = argument[argument.unicodeScalars.index(after: equals)...]
        guard let sign = value.unicodeScalars.first, sign == "@" || sign == "<" else { return false }
        return try fields(value.afterFirstScalar)[0] == "-"
    }

    private static func mediaType(_ text: some StringProtocol) throws -> String {
        let text = String(text)
        guard !text.isEmpty, HTTPField.isValidValue(text) else {
            throw ValidationError("--form has an invalid media type: ';type=\(text.shownSafely())'")
        }
        return text
    }

    private static func content(_ value: Substring) throws -> Content {
        guard let sign = value.unicodeScalars.first, sign == "@" || sign == "<" else {
            if value.utf8.first == UInt8(ascii: "\"") { return try quotedText(value) }
            return try text(value)
        }
        let fields = try fields(value.afterFirstScalar)
        var (type, fileName): (String?, String?) = (nil, nil)
        for field in fields.dropFirst() {
            let field = field.withoutOuterBlanks
            if field.hasOctetPrefixIgnoringCase("type=") {
                type = try mediaType(field.afterOctets(of: "type="))
            } else if field.hasOctetPrefixIgnoringCase("filename="), sign == "@" {
                fileName = String(field.afterOctets(of: "filename="))
            } else {
                let known = sign == "@" ? "type= and filename=" : "type="
                throw ValidationError(
                    "--form supports \(known) after a file, not '\(field.shownSafely())'. Put a file with a semicolon in quotation marks")
            }
        }
        let path = fields[0]
        switch (sign, path) {
        case ("@", "-"): return .body(.standardInput, fileName: fileName ?? "-", contentType: type ?? "application/octet-stream")
        case ("@", _): return .file(atPath: path, fileName: fileName, contentType: type)
        case (_, "-"): return .body(.standardInput, contentType: type)
        default: return .body(try .file(atPath: path), contentType: type)
        }
    }

    /// A text without quotation marks. Semicolons are text, except the semicolon of `;type=`. The command refuses other words of curl
    /// after a semicolon.
    private static func text(_ value: Substring) throws -> Content {
        guard value.utf8.first != UInt8(ascii: "(") else {
            throw ValidationError("--form does not support parts within a part. Put a text that begins with '(' in quotation marks")
        }
        var type: (start: Substring.Index, text: Substring)?
        for mark in value.utf8.indices where value.utf8[mark] == UInt8(ascii: ";") {
            let field = value[value.utf8.index(after: mark)...].drop { $0 == " " }
            for word in ["headers=", "encoder=", "filename="] where field.hasOctetPrefixIgnoringCase(word) {
                throw ValidationError("--form does not support ';\(word)' after a text. Put such a text in quotation marks")
            }
            if field.hasOctetPrefixIgnoringCase("type=") { type = (mark, field.afterOctets(of: "type=")) }
        }
        guard let type else { return .text(String(value)) }
        return .text(String(value[..<type.start]), contentType: try mediaType(type.text))
    }

    /// A text in quotation marks, which may have a media type after it.
    private static func quotedText(_ value: Substring) throws -> Content {
        let fields = try fields(value)
        guard let last = fields.dropFirst().first else { return .text(fields[0]) }
        guard fields.count == 2, last.hasOctetPrefixIgnoringCase("type=") else {
            throw ValidationError("--form supports type= after a text in quotation marks, not '\(last.shownSafely())'")
        }
        return .text(fields[0], contentType: try mediaType(last.afterOctets(of: "type=")))
    }

    /// Splits a text at semicolons outside quotation marks, and removes the quotation marks.
    private static func fields(_ text: Substring) throws -> [String] {
        var fields = [""]
        var (isQuoted, isEscaped) = (false, false)
        // By scalars, because a combining mark after a semicolon must not hide the semicolon.
        for character in text.unicodeScalars {
            if isEscaped {
                // As in curl, a backslash before any other character is a backslash.
                if character != "\"", character != "\\" { fields[fields.count - 1].append("\\") }
                fields[fields.count - 1].unicodeScalars.append(character)
                isEscaped = false
                continue
            }
            switch character {
            case "\\" where isQuoted: isEscaped = true
            case "\"": isQuoted.toggle()
            case ";" where !isQuoted: fields.append("")
            default: fields[fields.count - 1].unicodeScalars.append(character)
            }
        }
        guard !isQuoted else { throw ValidationError("--form has a quotation mark that is not closed: '\(String(text).shownSafely())'") }
        return fields
    }
}

extension StringProtocol where SubSequence == Substring {
    fileprivate var afterFirstScalar: Substring { self[unicodeScalars.index(after: startIndex)...] }

    /// The rest of the text after as many octets as `prefix` has.
    fileprivate func afterOctets(of prefix: String) -> Substring { self[utf8.index(startIndex, offsetBy: prefix.utf8.count)...] }
}
