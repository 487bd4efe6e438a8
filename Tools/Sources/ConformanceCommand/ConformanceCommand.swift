import ArgumentParser

/// `conformance`: runs the library against public test data, and under load.
@main
struct ConformanceCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "conformance", abstract: "Tests the library with public test data, and under load.",
        subcommands: [
            CacheTestsCommand.self, CookiesCommand.self, EventServiceCommand.self, EventVectorsCommand.self, ReplayCommand.self,
            SoakCommand.self, SoakServerCommand.self, StructuredFieldsCommand.self,
        ])
}
