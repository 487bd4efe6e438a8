import Errand
import Foundation

/// The values that `--write-out` can show.
struct WriteOut {
    /// The variables, with curl's names.
    static let names = [
        "http_code", "http_version", "method", "scheme", "url_effective", "content_type", "size_download", "size_upload",
        "speed_download", "speed_upload", "time_namelookup", "time_connect", "time_appconnect", "time_pretransfer", "time_posttransfer",
        "time_starttransfer", "time_redirect", "time_total", "remote_ip", "remote_port", "num_connects", "num_headers", "num_redirects",
        "num_retries", "proxy_used", "redirect_url", "filename_effective",
    ]

    /// The last request.
    let request: Request
    /// The head of the last response; `nil` if there is none.
    let head: HTTPResponse?
    /// The HTTP version of the last response.
    var httpVersion: HTTPVersion?
    var redirects = 0
    var retries = 0
    let bytes: Int
    let elapsed: Duration
    /// The file that the body was written to; `nil` if there is no file.
    var file: String?
    /// The number of connections that were opened.
    var openedConnections = 0
    /// Whether the last request went through a proxy.
    var usesProxy = false
    var steps = ExchangeSteps()

    private func value(of name: Substring) -> String? {
        let seconds = elapsed / .seconds(1)
        return switch name {
        // Without a response, curl's values are written.
        case "http_code", "response_code": head.map { "\($0.status.code)" } ?? "000"
        case "http_version": head == nil ? "0" : httpVersion?.number ?? ""
        case "method": request.method.rawValue
        case "scheme": request.head.scheme ?? ""
        case "url_effective": request.url?.description ?? ""
        case "content_type": head?.headerFields[values: .contentType].first ?? ""
        case "size_download": "\(bytes)"
        case "speed_download": "\(Int(Double(bytes) / max(0.000_001, seconds)))"
        case "size_upload": "\(steps.sentBytes)"
        case "speed_upload": "\(Int(Double(steps.sentBytes) / max(0.000_001, seconds)))"
        case "time_namelookup": String(format: "%.6f", steps.seconds(until: steps.nameLookup))
        case "time_connect": String(format: "%.6f", steps.seconds(until: steps.connect))
        case "time_appconnect": String(format: "%.6f", steps.seconds(until: steps.tls))
        case "time_pretransfer": String(format: "%.6f", steps.seconds(until: steps.connection))
        case "time_posttransfer": String(format: "%.6f", steps.seconds(until: steps.sent))
        // The last exchange begins when the time for the redirects ends.
        case "time_redirect": String(format: "%.6f", redirects > 0 ? steps.seconds(until: steps.exchange) : 0)
        case "time_starttransfer": String(format: "%.6f", steps.seconds(until: steps.firstByte))
        case "remote_ip": steps.peerAddress ?? ""
        case "remote_port": steps.peerPort.map { "\($0)" } ?? ""
        case "time_total": String(format: "%.6f", seconds)
        case "num_connects": "\(openedConnections)"
        case "proxy_used": usesProxy ? "1" : "0"
        case "num_headers": "\(head?.headerFields.count ?? 0)"
        case "num_redirects": "\(redirects)"
        case "num_retries": "\(retries)"
        case "redirect_url": redirectURL
        case "filename_effective": file ?? ""
        default: nil
        }
    }

    /// The target of a redirect that was not followed.
    private var redirectURL: String {
        guard let head, (300...399).contains(head.status.code), let url = request.url, let base = try? URLReference(url.description)
        else { return "" }
        let locations = head.headerFields[values: .location]
        guard let location = locations.first, locations.allSatisfy({ $0.utf8.elementsEqual(location.utf8) })
        else { return "" }
        return (try? RedirectPolicy.target(of: location, from: base))?.description ?? ""
    }

    /// The first value of a field of the response, as in curl.
    private func field(_ name: Substring) -> String {
        guard let name = HTTPField.Name(String(name)) else { return "" }
        return head?.headerFields.first { $0.name == name }?.value ?? ""
    }

    /// `format` with the values of its variables. Unknown variables stay unchanged.
    ///
    /// - Parameter isForTerminal: whether characters of the values that could steer a terminal are escaped.
    func text(_ format: String, isForTerminal: Bool = false) -> String {
        func shown(_ value: String) -> String { isForTerminal ? value.shownSafely(limit: .max) : value }
        return Self.replacingVariables(in: format, by: { value(of: $0).map(shown) }, fields: { shown(field($0)) })
    }

    /// The format that `--write-out` names: a text, or the content of a file without its line ends.
    ///
    /// - Throws: `ValidationError` for a file that can't be read.
    static func format(_ text: String) throws -> String {
        guard let path = CommandFile.path(in: text) else { return text }
        return String(decoding: CommandFile.withoutLineEnds(try CommandFile.read(path)), as: UTF8.self)
    }

    /// The variables in `format` that do not exist.
    static func unknownNames(in format: String) -> [String] {
        var unknown: [String] = []
        _ = replacingVariables(in: format) { name in
            if !names.contains(String(name)), name != "response_code" { unknown.append(String(name)) }
            return ""
        } fields: { _ in
            ""
        }
        return unknown
    }

    /// The warning about variables that do not exist. It names the variables that exist.
    static func warning(about unknown: [String]) -> String {
        let texts = unknown.map { "'\($0.shownSafely())'" }
        return "warning: --write-out has no variable \(texts.joined(separator: " or ")). The variables are "
            + "\(names.joined(separator: ", ")) and header{NAME}"
    }

    private static func replacingVariables(
        in format: String, by value: (Substring) -> String?, fields: (Substring) -> String
    ) -> String {
        var text = ""
        var rest = format[...]
        while let first = rest.first {
            if rest.hasPrefix("%%") {
                text += "%"
                rest = rest.dropFirst(2)
            } else if rest.hasPrefix("%{"), let end = rest.firstIndex(of: "}") {
                text += value(rest[rest.index(rest.startIndex, offsetBy: 2)..<end]) ?? String(rest[...end])
                rest = rest[rest.index(after: end)...]
            } else if rest.hasPrefix("%header{"), let end = rest.firstIndex(of: "}") {
                text += fields(rest[rest.index(rest.startIndex, offsetBy: 8)..<end])
                rest = rest[rest.index(after: end)...]
            } else if rest.hasPrefix("\\n") || rest.hasPrefix("\\t") || rest.hasPrefix("\\r") {
                text += rest.hasPrefix("\\n") ? "\n" : rest.hasPrefix("\\t") ? "\t" : "\r"
                rest = rest.dropFirst(2)
            } else {
                text.append(first)
                rest = rest.dropFirst()
            }
        }
        return text
    }
}
