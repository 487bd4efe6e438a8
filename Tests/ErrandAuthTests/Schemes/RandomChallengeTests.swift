#if Auth
import Errand
import ErrandTesting
import Foundation
import TestSupport
import Testing

@testable import ErrandAuth

/// Ten thousand invalid fields `WWW-Authenticate`: real fields with mutations, and random bytes.
@Suite(.timeLimit(.minutes(5))) struct RandomChallengeTests {
    private static let real = [
        #"Basic realm="office""#, #"Basic realm="a, Digest nonce=\"x\"", charset="UTF-8""#, "basic realm=x",
        #"Digest realm="http-auth@example.org", qop="auth, auth-int", algorithm=SHA-256, nonce="7ypf/xlj9XXwfDPEoM4URrv", opaque="FQhe/qaU925""#,
        #"Digest realm="r", nonce="n", stale=true, qop=auth, algorithm=MD5-sess"#,
        #"Digest realm="api", qop="auth", algorithm=SHA-512-256, nonce="5TsQWL", opaque="HRPC", charset=UTF-8, userhash=true"#,
        #"Digest realm="r", nonce="n""#, #"Bearer realm="example", error="invalid_token", error_description="The access token expired""#,
        "Negotiate", "Negotiate YII=", "NTLM TlRMTVNTUAAC==, Basic realm=r", #"Digest realm="a", nonce="1", Basic realm="b", Custom x=y"#,
    ]
    private static let pieces = [
        "Basic", "Digest", "Bearer", "Negotiate", "realm", "nonce", "qop", "algorithm", "stale", "=", "\"", "\\", ",", " ", "\t", "==",
        "auth-int",
        "MD5", "SHA-256", "true", "\r\n", "\0", "é", "\u{2028}", "%22", "'", ";", "Digest ", ",Digest realm=x,nonce=y", "\"\"",
    ]

    private struct Generator {
        var random: SeededGenerator

        mutating func below(_ limit: Int) -> Int { Int.random(in: 0..<max(1, limit), using: &random) }

        mutating func field() -> String {
            if below(10) == 0 {
                let bytes = (0..<below(200)).map { _ in UInt8(below(256)) }
                return below(2) == 0 ? String(decoding: bytes, as: UTF8.self) : String(bytes.map { Character(Unicode.Scalar($0)) })
            }
            var text = Array(RandomChallengeTests.real[below(RandomChallengeTests.real.count)].utf8)
            for _ in 0..<1 + below(6) { mutate(&text) }
            return String(decoding: text, as: UTF8.self)
        }

        private mutating func mutate(_ text: inout [UInt8]) {
            let piece = Array(RandomChallengeTests.pieces[below(RandomChallengeTests.pieces.count)].utf8)
            let at = below(text.count + 1)
            let end = min(text.count, at + below(12))
            switch below(7) {
            case 0: text.insert(contentsOf: piece, at: at)
            case 1: text.removeSubrange(at..<end)
            case 2: text.replaceSubrange(at..<end, with: piece)
            case 3: text = Array(text[..<at])
            case 4: text += Array(", ".utf8) + Array(RandomChallengeTests.real[below(RandomChallengeTests.real.count)].utf8)
            case 5: if at < text.count { text[at] = UInt8(below(256)) }
            default: text.insert(contentsOf: repeatElement(text[at..<end], count: 1 + below(20)).joined(), at: at)
            }
        }
    }

    private static func fields(seed: UInt64, _ count: Int) -> [String] {
        var generator = Generator(random: SeededGenerator(seed: seed))
        return (0..<count).map { _ in generator.field() }
    }

    /// Returns a sender that challenges every request with the same field, and the proofs that reach the sender.
    private func challenging(_ field: String) -> (sender: StubSender, sent: RecordingList<String?>) {
        let sent = RecordingList<String?>()
        let sender = StubSender { request in
            sent.record(request.headers[.authorization])
            return Response(head: HTTPResponse(status: .unauthorized, headerFields: [.wwwAuthenticate: field]), request: request)
        }
        return (sender, sent)
    }

    /// Whether a scheme's name is in the value, outside of quoted strings. The search does not use the reader of the library.
    private static func names(_ scheme: String, _ value: String) -> Bool {
        var (outside, isQuoted, isEscaped) = ("", false, false)
        for character in value.unicodeScalars {
            if isEscaped {
                isEscaped = false
            } else if isQuoted, character == "\\" {
                isEscaped = true
            } else if character == "\"" {
                isQuoted.toggle()
                outside.append(" ")
            } else if !isQuoted {
                outside.unicodeScalars.append(character)
            }
        }
        return outside.lowercased().contains(scheme)
    }

    @Test(arguments: 1...10 as ClosedRange<UInt64>) func noFieldMakesAProofOfAnotherScheme(seed: UInt64) async throws {
        let token = Set("!#$%&'*+-.^_`|~0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ")
        var proofs = (basic: 0, digest: 0)
        for text in Self.fields(seed: seed, 1_000) {
            let field = HTTPField(name: .wwwAuthenticate, value: text).value  // as a message carries it
            let challenges = AuthenticationChallenge.parse([field])
            #expect(challenges.count <= 32 && challenges.allSatisfy { $0.parameters.count <= 32 })
            #expect(challenges.allSatisfy { !$0.scheme.isEmpty && $0.scheme.allSatisfy(token.contains) }, "\(field)")

            let request = try Request(.get, url: "https://a.example/x?y=1")
            let bearer = challenging(field)
            let stopped = try await HTTPStack(bearer.sender).authenticate(.bearer("t")).send(request)
            #expect(bearer.sent.all == ["Bearer t"] && stopped.metadata.authenticationStop == .refused)

            let basic = challenging(field)
            let asked = try await HTTPStack(basic.sender).authenticate(.basic(user: "joe", password: "pw", isPreemptive: false)).send(
                request)
            #expect(basic.sent.all == [nil] || basic.sent.all == [nil, "Basic am9lOnB3"])
            #expect(basic.sent.all.count == 1 || Self.names("basic", field), "\(field)")
            #expect(asked.metadata.authenticationStop == (basic.sent.all.count == 1 ? .noCredentials : .refused))
            proofs.basic += basic.sent.all.count - 1

            let digest = challenging(field)
            let stop = try await HTTPStack(digest.sender).authenticate(.digest(user: "joe", password: "pw")).send(request).metadata
                .authenticationStop
            let sent = digest.sent.all.dropFirst().compactMap(\.self)
            #expect(digest.sent.all.first == .some(nil) && sent.count == digest.sent.all.count - 1)
            // The same nonce each time, so that no second proof differs from the first.
            #expect(sent.count <= 1 && stop == (sent.isEmpty ? .noCredentials : .refused), "\(field)")
            guard let proof = sent.first else { continue }
            proofs.digest += 1
            #expect(Self.names("digest", field), "\(field)")
            let read = AuthenticationChallenge.parse([proof])
            #expect(read.count == 1 && read.first?.isScheme("Digest") == true, "\(proof)")
            // What the server sent comes back as it was, and nothing of it becomes a parameter of the proof.
            let isMet = challenges.contains { challenge in
                challenge.isScheme("Digest") && challenge.realm == read.first?.realm && challenge["nonce"] == read.first?["nonce"]
                    && challenge["opaque"] == read.first?["opaque"]
            }
            #expect(isMet && read.first?["uri"] == "/x?y=1", "\(proof)")
            let names = Set(read.first?.parameters.map(\.name) ?? [])
            #expect(
                names.isSubset(of: [
                    "username", "realm", "nonce", "uri", "response", "algorithm", "opaque", "qop", "nc", "cnonce", "userhash",
                ]), "\(proof)")
            #expect(proof.unicodeScalars.allSatisfy { $0 == "\t" || $0.value >= 0x20 && $0.value != 0x7F }, "\(proof)")
        }
        // Enough fields are still valid after the mutations.
        #expect(proofs.basic > 50 && proofs.digest > 50, "\(proofs)")
    }

    /// The longest values that are read, of what readers tend to go through twice.
    @Test(arguments: ["\"", "\\", ",", " ", "=", "a", "a=", "a=b,", "a,", "a=\"", "\"\\\"", "Digest ", "Digest a=b,", "\t,", "é"])
    func theLongestFieldIsReadInLittleTime(piece: String) async throws {
        for prefix in ["", "Digest ", #"Digest realm="r", nonce=""#, "Basic realm="] {
            let field = HTTPField(
                name: .wwwAuthenticate, value: prefix + String(repeating: piece, count: (8_192 - prefix.utf8.count) / piece.utf8.count)
            ).value
            let began = ContinuousClock.now
            for _ in 0..<5 { _ = AuthenticationChallenge.parse([field]) }
            let sender = challenging(field)
            _ = try await HTTPStack(sender.sender).authenticate(.digest(user: "joe", password: "pw"))
                .send(try Request(.get, url: "https://a.example/"))
            #expect(sender.sent.all.count <= 2)
            #expect(began.duration(to: .now) < .seconds(20))
        }
    }
}
#endif
