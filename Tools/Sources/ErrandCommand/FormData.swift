import ArgumentParser
import Errand
import Foundation
import Synchronization

/// One option for form data: `-d`, `--data-raw`, `--data-binary` or `--data-urlencode`.
///
/// The arguments have a separate array for each option. The position keeps the order of all options: the parser reads the options
/// from left to right.
struct FormData: Sendable {
    enum Kind: Sendable { case data, raw, binary, urlEncoded }

    private static let counter = Atomic(0)

    let kind: Kind
    let text: String
    let position: Int

    private init(_ kind: Kind, _ text: String) {
        (self.kind, self.text) = (kind, text)
        position = Self.counter.wrappingAdd(1, ordering: .relaxed).newValue
    }

    /// Returns a function with which the parser makes form data of a kind.
    static func reading(_ kind: Kind) -> @Sendable (String) -> FormData { { FormData(kind, $0) } }

    /// The file whose bytes are sent unchanged; `nil` for anything else.
    var streamedFile: String? { kind == .binary ? CommandFile.path(in: text) : nil }

    /// The octets to send. The contents of a file are sent unchanged.
    ///
    /// - Throws: `ValidationError` for a file that can't be read.
    func octets() throws -> Data {
        switch kind {
        case .raw: return Data(text.utf8)
        case .binary: return try CommandFile.path(in: text).map(CommandFile.read) ?? Data(text.utf8)
        case .data: return try CommandFile.path(in: text).map { CommandFile.withoutLineEnds(try CommandFile.read($0)) } ?? Data(text.utf8)
        case .urlEncoded: return try urlEncoded()
        }
    }

    /// The octets of `--data-urlencode`, in curl's forms: `content`, `=content`, `name=content`, `@FILE` or `name@FILE`. The name is sent
    /// unchanged.
    private func urlEncoded() throws -> Data {
        let octets = text.utf8
        let mark = octets.firstIndex(of: UInt8(ascii: "=")) ?? octets.firstIndex(of: UInt8(ascii: "@"))
        guard let mark else { return Self.encoded(Data(octets)) }
        let value = text[octets.index(after: mark)...]
        let content = octets[mark] == UInt8(ascii: "@") ? try CommandFile.read(String(value)) : Data(value.utf8)
        let name = Data(text[..<mark].utf8)
        return name.isEmpty ? Self.encoded(content) : name + Data("=".utf8) + Self.encoded(content)
    }

    /// Escapes data as curl does, with `+` in place of a space.
    static func encoded(_ data: Data) -> Data {
        var encoded = Data()
        for octet in data {
            switch octet {
            case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"), UInt8(ascii: "0")...UInt8(ascii: "9"),
                UInt8(ascii: "-"), UInt8(ascii: "."), UInt8(ascii: "_"), UInt8(ascii: "~"):
                encoded.append(octet)
            case 0x20: encoded.append(UInt8(ascii: "+"))
            default: encoded += percentEscape(octet).utf8
            }
        }
        return encoded
    }

    /// The data of `-G` as text for a query, in which octets outside ASCII are escaped.
    static func queryText(_ data: Data) -> String {
        var octets: [UInt8] = []
        for octet in data {
            if octet < 0x80, octet != UInt8(ascii: "#") { octets.append(octet) } else { octets += percentEscape(octet).utf8 }
        }
        return String(decoding: octets, as: UTF8.self)
    }

    private static func percentEscape(_ octet: UInt8) -> String {
        let digits = String(octet, radix: 16, uppercase: true)
        return "%" + (digits.utf8.count == 1 ? "0" + digits : digits)
    }
}

/// A file that an option names: `-` is standard input.
enum CommandFile {
    /// The path after `@`; `nil` for a text without it.
    static func path(in text: String) -> String? { text.utf8.first == UInt8(ascii: "@") ? String(text.utf8.dropFirst()) : nil }

    /// - Throws: `ValidationError` for a file that can't be read.
    static func read(_ path: String) throws -> Data {
        let isStandardInput = path.isExactly("-")
        let descriptor = isStandardInput ? 0 : open(path, O_RDONLY | O_CLOEXEC)
        guard descriptor >= 0 else { throw ValidationError("\(FileReadError(path: path, operation: "read", code: errno))") }
        defer { if !isStandardInput { close(descriptor) } }
        var data = Data()
        do {
            let name = isStandardInput ? "standard input" : path
            while let chunk = try Terminal.read(upTo: 64 * 1024, from: descriptor, named: name) { data += chunk }
        } catch {
            throw ValidationError("\(error)")
        }
        return data
    }

    /// The data without CR, LF and NUL, as curl reads a file of data.
    static func withoutLineEnds(_ data: Data) -> Data { data.filter { $0 != 0x0A && $0 != 0x0D && $0 != 0 } }
}
