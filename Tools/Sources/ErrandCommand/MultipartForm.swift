import ArgumentParser
import Errand
import Foundation

/// A form in parts ([RFC 7578](https://www.rfc-editor.org/rfc/rfc7578)), for `-F`, until the library has one. Files are read while they are sent.
struct MultipartForm {
    private enum Piece {
        case bytes(Data)
        case file(RequestBody)

        var length: Int64 {
            switch self {
            case .bytes(let data): Int64(data.count)
            case .file(let body): body.length ?? 0
            }
        }
    }

    private var pieces: [Piece] = []
    private let boundary: String

    var contentType: String { "multipart/form-data; boundary=\(boundary)" }

    /// - Parameter parts: each `name=value` or `name=@FILE[;type=TYPE][;filename=NAME]`.
    init(parts: [String]) throws {
        boundary = "errand-" + UUID().uuidString
        for part in parts {
            guard let equals = part.firstIndex(of: "="), equals != part.startIndex else {
                throw ValidationError("--form must be name=value or name=@FILE")
            }
            let name = String(part[..<equals])
            let value = String(part[part.index(after: equals)...])
            guard value.hasPrefix("@") else {
                add(name: name, fileName: nil, type: nil, .bytes(Data(value.utf8)))
                continue
            }
            let fields = Self.fields(value.dropFirst())
            let path = fields[0]
            func parameter(_ name: String) -> String? {
                fields.dropFirst().first { $0.hasPrefix(name + "=") }.map { String($0.dropFirst(name.count + 1)) }
            }
            add(
                name: name, fileName: parameter("filename") ?? URL(fileURLWithPath: path).lastPathComponent,
                type: parameter("type") ?? "application/octet-stream", .file(try .file(atPath: path)))
        }
        pieces.append(.bytes(Data("--\(boundary)--\r\n".utf8)))
    }

    /// Between semicolons outside quotes, unquoted.
    private static func fields(_ text: Substring) -> [String] {
        var fields = [""]
        var isQuoted = false
        for character in text {
            switch character {
            case "\"": isQuoted.toggle()
            case ";" where !isQuoted: fields.append("")
            default: fields[fields.count - 1].append(character)
            }
        }
        return fields
    }

    private mutating func add(name: String, fileName: String?, type: String?, _ content: Piece) {
        var head = "--\(boundary)\r\nContent-Disposition: form-data; name=\"\(Self.escaped(name))\""
        if let fileName { head += "; filename=\"\(Self.escaped(fileName))\"" }
        if let type { head += "\r\nContent-Type: \(type.filter { !$0.isNewline })" }
        pieces.append(.bytes(Data((head + "\r\n\r\n").utf8)))
        pieces.append(content)
        pieces.append(.bytes(Data("\r\n".utf8)))
    }

    /// As the HTML standard has it: three characters escaped, and no others.
    private static func escaped(_ text: String) -> String {
        text.replacing("\n", with: "%0A").replacing("\r", with: "%0D").replacing("\"", with: "%22")
    }

    func body() throws -> RequestBody {
        let bodies = pieces.map { piece in
            switch piece {
            case .bytes(let data): RequestBody.data(data)
            case .file(let body): body
            }
        }
        return .stream(length: pieces.reduce(0) { $0 + $1.length }, replay: .restartable) { _ in Source(bodies) }
    }

    private actor Source: BodySource {
        private var rest: ArraySlice<RequestBody>
        private var current: (any BodySource)?

        init(_ bodies: [RequestBody]) { rest = bodies[...] }

        func next() async throws -> Data? {
            while true {
                if let chunk = try await current?.next() { return chunk }
                guard let body = rest.popFirst() else { return nil }
                current = try await body.open()
            }
        }

        nonisolated func abandon() {}
    }
}
