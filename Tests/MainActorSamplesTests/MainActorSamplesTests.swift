import Errand
import ErrandTesting
import Foundation
import Testing

// This module's code is on the main actor unless it is marked otherwise, as Xcode 26 sets up new apps. The other files of this
// folder are links to the samples of the README and the guides in `ReadmeTests`: all of them compile here as well, and the ones
// for apps run.

@Suite(.timeLimit(.minutes(5))) struct MainActorSamplesTests {
    /// One source of truth: no sample is copied.
    @Test func everySampleIsLinkedFromTheReadmeTests() throws {
        let folder = URL(fileURLWithPath: #filePath).deletingLastPathComponent()
        let samples = folder.deletingLastPathComponent().appendingPathComponent("ReadmeTests")
        let names = try FileManager.default.contentsOfDirectory(atPath: samples.path).filter { !$0.hasSuffix("Tests.swift") }
        #expect(names.count >= 10)
        for name in names {
            let link = try? FileManager.default.destinationOfSymbolicLink(atPath: folder.appendingPathComponent(name).path)
            #expect(link == "../ReadmeTests/\(name)")
        }
    }

    @Test func samplesForAppsRunInAModuleOnTheMainActor() async throws {
        await screenShowsItsNotes()
        await modelShowsWhatItGets()
        try await requestsAreRight()
        try await stubbed()
        try await noteIsLoaded()
        try await accountsAreStubbed()
        try await inventoryIsAskedAgain()
        let list = NoteList(
            api: APIClient(StubTransport(Stub().responds(.json([Note(id: 1, text: "Buy tea")]))).server("https://a.example")))
        await list.load()
        #expect(list.notes.count == 1)
    }
}
