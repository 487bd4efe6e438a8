#if SWIFT_NIO && MockServer
internal import ErrandConformance
internal import Foundation
internal import TestSupport
internal import Testing

/// The tables of the cases that do not run over `URLSession`.
@Suite struct NotOverURLSessionTests {
    /// A file with tests for every transport.
    private struct File {
        let target: String
        let text: String
        /// The names of its suites and functions.
        var names: [String] {
            text.split { !$0.isLetter && !$0.isNumber }.reduce(into: (names: [String](), isNext: false)) { found, word in
                if found.isNext { found.names.append(String(word)) }
                found.isNext = word == "struct" || word == "func"
            }.names
        }
    }

    private func files() throws -> [File] {
        let tests = Checkout.root.appending(path: "Tests")
        let paths = try FileManager.default.subpathsOfDirectory(atPath: tests.path).filter { $0.hasSuffix(".swift") }
        return try paths.compactMap { path in
            let text = try String(contentsOf: tests.appending(path: path), encoding: .utf8)
            guard let target = path.split(separator: "/").first.map(String.init), target != "ErrandURLSessionTests",
                text.contains("TestedTransport.allCases")
            else { return nil }
            return File(target: target, text: text)
        }
    }

    @Test func eachBehaviorIsInTheConformanceSuite() {
        let names = Set(TransportBehavior.all.map(\.name))
        #expect(Set(NotOverURLSession.behaviors.keys).subtracting(names).isEmpty)
        #expect(NotOverURLSession.behaviors.values.allSatisfy { !$0.isEmpty })
    }

    @Test func eachTestIsATestForEveryTransport() throws {
        let names = Set(try files().flatMap(\.names))
        #expect(Set(NotOverURLSession.tests.keys).subtracting(names).isEmpty)
        #expect(NotOverURLSession.tests.values.allSatisfy { !$0.isEmpty })
    }

    @Test(.enabled(if: Suites.folder != nil, Comment(rawValue: Suites.missing)))
    func eachCookieVectorIsInTheSuite() throws {
        let names = Set(try CookieVector.all().map(\.name))
        #expect(Set(NotOverURLSession.cookieVectors.keys).subtracting(names).isEmpty)
        #expect(NotOverURLSession.cookieVectors.values.allSatisfy { !$0.isEmpty })
    }

    @Test func eachSuiteForEveryTransportRunsOverURLSession() throws {
        let script = try String(contentsOf: Checkout.root.appending(path: "scripts/suites"), encoding: .utf8)
        let line = try #require(script.split(separator: "\n").first { $0.hasPrefix("OVER_URL_SESSION =") })
        let filters = line.split(separator: "\"")
        let root = try String(
            contentsOf: Checkout.root.appending(path: "Tests/ErrandTransportTests/TransportTests.swift"), encoding: .utf8)
        #expect(filters.contains("ErrandTransportTests") && root.contains("TestedOverURLSession()"))
        // All other suites of ErrandTransportTests are in the suite of that file.
        for file in try files() where file.target != "ErrandTransportTests" {
            #expect(file.text.contains("TestedOverURLSession()"), "\(file.names)")
            #expect(file.names.contains { name in filters.contains { $0 == name } }, "\(file.names)")
        }
    }
}
#endif
