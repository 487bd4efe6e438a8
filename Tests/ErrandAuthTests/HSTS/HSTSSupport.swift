#if Auth
import Errand
import Foundation
import Synchronization
import TestSupport

@testable import ErrandAuth

/// Keeps hosts as `FileHSTSStore` does, records its calls, and fails as long as the test says.
final class RecordingHSTSStore: HSTSStore {
    struct State: Sendable {
        var hosts: [HSTSHost] = []
        var loads = 0
        /// The notes of each call of `apply`, by name.
        var notes: [[HSTSHost]] = []
        var failure: (any Error)?
    }

    let state: Watched<State>
    /// Runs at the beginning of each call.
    private let during: @Sendable () async throws -> Void

    init(_ hosts: [HSTSHost] = [], failure: (any Error)? = nil, during: @escaping @Sendable () async throws -> Void = {}) {
        state = Watched(State(hosts: hosts, failure: failure))
        self.during = during
    }

    func load() async throws -> [HSTSHost] {
        state.change { $0.loads += 1 }
        try await during()
        if let failure = state.value.failure { throw failure }
        return state.value.hosts
    }

    func apply(_ notes: [HSTSHost]) async throws -> [HSTSHost] {
        state.change { $0.notes.append(notes.sorted { $0.name < $1.name }) }
        try await during()
        if let failure = state.value.failure { throw failure }
        state.change { state in
            var hosts = Dictionary(uniqueKeysWithValues: state.hosts.map { ($0.name, $0) })
            for note in notes where hosts[note.name].map({ $0.noted <= note.noted }) ?? true { hosts[note.name] = note }
            state.hosts = hosts.values.sorted { $0.name < $1.name }
        }
        return state.value.hosts
    }
}

extension HSTSList {
    /// Notes the field of a response of `url`.
    func note(_ value: String, from url: String, _ change: (inout Response) -> Void = { _ in }) throws {
        var response = Response(
            head: HTTPResponse(status: .ok, headerFields: [.strictTransportSecurity: value]), request: try Request(.get, url: url))
        change(&response)
        note(response)
    }

    /// The names of ``hosts``, with a dot in front if the subdomains are included.
    var names: [String] { hosts.map { ($0.includesSubdomains ? "." : "") + $0.name } }
}
#endif
