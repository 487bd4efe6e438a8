import Errand
import Foundation

/// What `--write-out` shows.
struct WriteOut {
    /// The variables, in curl's words.
    static let names = [
        "http_code", "http_version", "method", "scheme", "url_effective", "content_type", "size_download", "speed_download", "time_total",
        "num_connects", "num_redirects", "num_retries", "proxy_used", "redirect_url", "filename_effective",
    ]

    let response: Response
    let bytes: Int
    let elapsed: Duration
    /// The file that the body was written to; `nil` for none.
    var file: String?
    /// The number of connections that were opened.
    var openedConnections = 0
    /// Whether the last request went through a proxy.
    var usesProxy = false

    private func value(of name: Substring) -> String? {
        let seconds = elapsed / .seconds(1)
        return switch name {
        case "http_code", "response_code": "\(response.status.code)"
        case "http_version": response.metadata.httpVersion ?? ""
        case "method": response.request.method.rawValue
        case "scheme": response.request.head.scheme ?? ""
        case "url_effective": response.request.url?.description ?? ""
        case "content_type": response.headers[.contentType] ?? ""
        case "size_download": "\(bytes)"
        case "speed_download": "\(Int(Double(bytes) / max(0.000_001, seconds)))"
        case "time_total": String(format: "%.6f", seconds)
        case "num_connects": "\(openedConnections)"
        case "proxy_used": usesProxy ? "1" : "0"
        case "num_redirects": "\(response.metadata.redirects.count)"
        case "num_retries": "\(response.metadata.attempts.count)"
        case "redirect_url": redirectURL
        case "filename_effective": file ?? ""
        default: nil
        }
    }

    /// Where a redirect leads that was not followed.
    private var redirectURL: String {
        let locations = response.headers[values: .location]
        guard (300...399).contains(response.status.code), let location = locations.first, let url = response.request.url,
            locations.allSatisfy({ $0.utf8.elementsEqual(location.utf8) }), let base = try? URLReference(url.description)
        else { return "" }
        return (try? RedirectPolicy.target(of: location, from: base))?.description ?? ""
    }

    /// `format` with the values of its variables; an unknown one stays as it is.
    func text(_ format: String) -> String { Self.replacingVariables(in: format, by: value) }

    /// The variables in `format` that do not exist.
    static func unknownNames(in format: String) -> [String] {
        var unknown: [String] = []
        _ = replacingVariables(in: format) { name in
            if !names.contains(String(name)), name != "response_code" { unknown.append(String(name)) }
            return ""
        }
        return unknown
    }

    private static func replacingVariables(in format: String, by value: (Substring) -> String?) -> String {
        var text = ""
        var rest = format[...]
        while let first = rest.first {
            if rest.hasPrefix("%%") {
                text += "%"
                rest = rest.dropFirst(2)
            } else if rest.hasPrefix("%{"), let end = rest.firstIndex(of: "}") {
                text += value(rest[rest.index(rest.startIndex, offsetBy: 2)..<end]) ?? String(rest[...end])
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
