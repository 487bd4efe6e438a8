internal import ErrandCore
internal import ErrandFormats

/// Reads and writes property lists with Foundation.
enum PropertyListCoding {
    static let mediaType = "application/x-plist"

    /// The first words in the description of an error that concerns the whole body.
    static let problem = "the body is not a property list"

    private static var unreadable: DecodingError { .dataCorrupted(.init(codingPath: [], debugDescription: problem)) }

    static func encode(_ value: some Encodable, format: EndpointBody.PropertyListFormat) throws -> Data {
        let encoder = PropertyListEncoder()
        encoder.outputFormat = format == .binary ? .binary : .xml
        return try encoder.encode(value)
    }

    /// - Throws: `DecodingError`, also for a list that `PropertyListCheck` refuses.
    static func decode<Value: Decodable>(_ type: Value.Type, from data: Data) throws -> Value {
        if let why = data.withUnsafeBytes({ PropertyListCheck.problem(in: $0) }) {
            throw DecodingError.dataCorrupted(.init(codingPath: [], debugDescription: "\(problem) that can be read: \(why)"))
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
}
