import Foundation
import TestSupport
import Testing

/// The public vectors for structured fields, both ways. None differs.
@Suite(.timeLimit(.minutes(5)), .enabled(if: Suites.folder != nil, Comment(rawValue: Suites.missing)))
struct StructuredFieldSuiteTests {
    @Test func everyVectorIsReadWrittenOrRefused() throws {
        let folder = try #require(Suites.folder).appendingPathComponent("structured-fields")
        let report = try StructuredFieldSuite(folder: folder).run()
        #expect(report.parsed >= 1_591 && report.serialized >= 544 + 700)
        #expect(report.differences == [])
    }
}
