#if Auth
import ErrandCore
import ErrandFormats
import Testing

@testable import ErrandAuth

/// The examples of NIST ([SHA-512/256](https://csrc.nist.gov/projects/cryptographic-standards-and-guidelines/example-values)).
struct SHA512T256Tests {
    @Test(arguments: [
        ("abc", "53048e2681941ef99b2e29b76b4c7dabe4c2d0c634fc6d46e0e2f13107e7af23"),
        ("", "c672b8d1ef56ed28ab87c3622c5114069bdd3ad7b8f9737498d0c01ecef0967a"),
        (String(repeating: "a", count: 1_000), "40eb4a70d4d69815407a9e272f0101cd67e3d11262a4a0bfc087712749c7fb53"),
    ])
    func theHashMatchesTheStandard(text: String, digits: String) {
        var hash = SHA512T256()
        hash.update(Data(text.utf8))
        #expect(hex(hash.finalized()) == digits)
    }
}
#endif
