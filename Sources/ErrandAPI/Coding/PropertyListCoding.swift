internal import ErrandCore

/// Property lists, as Foundation reads and writes them.
enum PropertyListCoding {
    static let mediaType = "application/x-plist"

    /// The deepest nesting of a property list in XML that is read. Foundation reads it by recursion, whose stack has no guard of its own.
    static let depthLimit = 128

    /// How the description of an error begins whose cause is the body as a whole.
    static let problem = "the body is not a property list"

    private static var unreadable: DecodingError { .dataCorrupted(.init(codingPath: [], debugDescription: problem)) }

    static func encode(_ value: some Encodable, format: EndpointBody.PropertyListFormat) throws -> Data {
        let encoder = PropertyListEncoder()
        encoder.outputFormat = format == .binary ? .binary : .xml
        return try encoder.encode(value)
    }

    /// - Throws: `DecodingError`, also for a list in XML that nests deeper than ``depthLimit``.
    static func decode<Value: Decodable>(_ type: Value.Type, from data: Data) throws -> Value {
        guard isShallow(data) else {
            throw DecodingError.dataCorrupted(
                .init(codingPath: [], debugDescription: "\(problem) that is read: it nests deeper than \(depthLimit) levels"))
        }
        do {
            return try PropertyListDecoder().decode(type, from: data)
        } catch let error as DecodingError {
            if case .dataCorrupted(let context) = error, context.codingPath.isEmpty { throw unreadable }
            throw error
        } catch {
            throw unreadable
        }
    }

    /// Whether a text in XML opens at most ``depthLimit`` more elements than it closes, up to each of its places. Counts what a comment has as well: no
    /// property list of a program comes near the limit.
    private static func isShallow(_ data: Data) -> Bool {
        if data.starts(with: Data("bplist".utf8)) { return true }
        var (depth, previous, isTag, isOpening) = (0, UInt8(0), false, false)
        for byte in data {
            switch byte {
            case UInt8(ascii: "<"): (isTag, isOpening) = (true, true)
            case UInt8(ascii: "/") where previous == UInt8(ascii: "<"):
                isOpening = false
                depth -= 1
            case UInt8(ascii: "!") where previous == UInt8(ascii: "<"), UInt8(ascii: "?") where previous == UInt8(ascii: "<"):
                isTag = false
            case UInt8(ascii: ">") where isTag:
                if isOpening, previous != UInt8(ascii: "/") { depth += 1 }
                isTag = false
                if depth > depthLimit { return false }
            default: break
            }
            // UTF-16 has zeros between the characters.
            if byte != 0 { previous = byte }
        }
        return true
    }
}
