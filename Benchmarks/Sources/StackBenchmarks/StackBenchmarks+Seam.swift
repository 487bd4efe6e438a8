import Foundation
import SeamCases

extension StackBenchmarks {
    static func measureSeam() async throws -> (send: Figure, typed: Figure) {
        print("the seam, over a transport that returns a whole 200 of 1 KB at once\n")
        let seam = try Seam()
        let send = try await measure("stack.send") { try await seam.send() }
        _ = try await measure("stack.send of a new request, and its body") { try await seam.sendNew() }
        _ = try await measure("the request of a typed call") { try await seam.makeRequest() }
        let typed = try await measure("APIClient.data") { try await seam.data() }
        _ = try await measure("APIClient.value of a JSON object") { try await seam.value() }
        let decoder = JSONDecoder()
        _ = try await measure("  of which JSONDecoder") { _ = try decoder.decode(Whole.User.self, from: Whole.body) }
        print("")
        return (send, typed)
    }
}
