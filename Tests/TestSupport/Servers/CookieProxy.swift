public import Foundation

/// The proxy of the cookie suite in ``Suites``, which plays the cases over HTTP. The proxy ends with this value or with this process.
public final class CookieProxy: Sendable {
    /// Whether `python3` is installed.
    public static var isHere: Bool { Programs.find("python3") != nil }
    public static let missing = "there is no python3 on this machine"

    /// The port on 127.0.0.1.
    public let port: Int
    private let child: ChildServer

    /// Starts the proxy on a free port.
    ///
    /// - Parameter cases: other cases, as JSON in the form of the suite's `vectors.json`; `nil`, the default, for the cases of the suite.
    public init(cases: Data? = nil) async throws {
        guard let python = Programs.find("python3"), let suites = Suites.folder else {
            throw ProgramFailure(program: "proxy.py", status: -1, output: "python3 or the vectors are not here")
        }
        let folder = try TestFolder("cookies", removesItself: false)
        let script = suites.appendingPathComponent("cookies/proxy.py").path
        let options = try cases.map { ["--vectors", try folder.write($0, to: "cases.json")] } ?? []
        let child = try ChildServer(
            folder: folder.path, command: [python, script, "--port", "0", "--max-seconds", "600"] + options)
        let lead = "Listening on http://127.0.0.1:"
        var log = ""
        try await poll("the proxy of the cookie suite", upTo: .seconds(30), value: { child.log }) { text in
            log = text
            return text.contains(lead) && text.hasSuffix("\n")
        }
        guard let number = log.components(separatedBy: lead).last?.prefix(while: \.isNumber), let port = Int(number) else {
            throw ProgramFailure(program: "proxy.py", status: -1, output: log)
        }
        (self.port, self.child) = (port, child)
    }

    /// Stops the proxy, and returns when it has ended.
    public func stop() async throws {
        child.stop()
        try await poll("the end of the proxy", upTo: .seconds(30), value: { [child] in child.hasEnded }) { $0 }
    }
}
