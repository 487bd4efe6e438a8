import ErrandCore
import ErrandFormats
import HTTPTypes

@testable import ErrandCache

/// Fields in a short form: lines of `Name: value`.
func fields(_ lines: [String]) -> HTTPFields {
    var fields = HTTPFields()
    for line in lines {
        guard let colon = line.firstIndex(of: ":"), let name = HTTPField.Name(String(line[..<colon])) else { continue }
        let value = line[line.index(after: colon)...].drop { $0 == " " }
        fields.append(HTTPField(name: name, value: String(value)))
    }
    return fields
}

func response(_ lines: String..., status: Int = 200) -> HTTPResponse { response(lines, status: status) }

func response(_ lines: [String], status: Int = 200) -> HTTPResponse {
    HTTPResponse(status: HTTPResponse.Status(code: status), headerFields: fields(lines))
}

/// The beginning of all tests: Fri, 01 Mar 2030 12:00:00 GMT.
let beginning = HTTPDate(secondsSinceEpoch: 1_898_596_800)

/// An instant after the beginning. `wall` is the time by which someone has set the wall clock forward.
func instant(_ seconds: Double = 0, wall: Double = 0, run: UInt64 = 1) -> CacheInstant {
    CacheInstant(
        sinceEpoch: .seconds(beginning.secondsSinceEpoch) + .seconds(seconds) + .seconds(wall), uptime: .seconds(seconds), run: run)
}

/// A date after the beginning, as it is sent.
func date(_ seconds: Int64) -> String { HTTPDate(secondsSinceEpoch: beginning.secondsSinceEpoch + seconds).description }

let sampleURL = "https://api.example/items"

func request(
    _ lines: String..., method: HTTPRequest.Method = .get, url: String = sampleURL, identity: CredentialIdentity? = nil
) -> Request {
    do {
        var request = try Request(method, url: url, headers: fields(lines))
        request.options.credentialIdentity = identity
        return request
    } catch {
        preconditionFailure("url must be valid (is \(url))")
    }
}

func read(
    _ request: Request, mode: CachePolicy.Mode = .standard, scope: CachePolicy.Scope = .private, isDecoded: Bool = false
) -> CacheRequest {
    let digest: [UInt8]? = request.method == .query ? [7] : nil
    guard let read = CacheRequest(request, mode: mode, scope: scope, bodyDigest: digest, isDecoded: isDecoded) else {
        preconditionFailure("the request must have an absolute URL")
    }
    return read
}

/// The head of a stored response that arrived at the beginning.
func head(
    _ lines: [String], status: Int = 200, extent: CacheExtent = .whole(length: 10), at time: CacheInstant = instant(),
    requestTime: CacheInstant? = nil, selection: CacheSelection = CacheSelection(), lifetimes: CacheLifetimes? = nil,
    isDecoded: Bool = false
) -> CacheEntry.Head {
    CacheEntry.Head(
        response: response(lines, status: status), requestTime: requestTime ?? time, responseTime: time, selection: selection,
        extent: extent, lifetimes: lifetimes, isDecoded: isDecoded)
}

func entry(_ id: Int64, _ head: CacheEntry.Head) -> CacheEntry { CacheEntry(id: .init(id), head: head) }

/// A digest for tests: the octets, reversed.
let testDigest: @Sendable (String) -> [UInt8] = { Array($0.utf8.reversed()) }
