import Foundation
import Testing

@testable import ErrandCore

@Suite(.timeLimit(.minutes(5))) struct SystemErrorTextTests {
    @Test(arguments: [
        (ECONNREFUSED, "connection refused"), (ECONNRESET, "connection reset by the server"), (EPIPE, "connection closed by the server"),
        (EHOSTUNREACH, "host unreachable"), (ENETUNREACH, "network unreachable"), (ENETDOWN, "network is down"),
        (ETIMEDOUT, "no response from the host"), (EADDRINUSE, "address already in use"), (EACCES, "permission denied"),
        (ENOENT, "no such file or folder"), (ENOSPC, "no space left on the disk"), (EMFILE, "too many open files in this process"),
    ])
    func aKnownErrorHasATextWithoutANumber(_ code: Int32, _ words: String) {
        #expect(systemErrorText(code) == words)
    }

    @Test func anUnknownErrorHasTheSystemsWordsAndItsNumber() {
        #expect(systemErrorText(EDOM).hasSuffix("(errno \(EDOM))"))
        #expect(systemErrorText(9_999).contains("9999"))
    }

    @Test func noTextHasAnUnbalancedBracketOrNamesAFunction() {
        for code in Int32(1)...133 {
            let text = systemErrorText(code)
            #expect(
                text.count { $0 == "(" } == text.count { $0 == ")" } && !text.contains("(:") && !text.contains(":)") && !text.isEmpty,
                "\(text)")
        }
    }
}
