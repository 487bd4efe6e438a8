import ErrandCore
import Foundation
import Testing

@Suite(.timeLimit(.minutes(5))) struct CheckedFieldTests {
    private func error(_ change: (inout HTTPFields) throws -> Void) -> InvalidFieldError? {
        var fields: HTTPFields = [.custom("X-Tenant"): "blue"]
        do {
            try change(&fields)
            return nil
        } catch {
            #expect(fields == [.custom("X-Tenant"): "blue"], "the fields stay unchanged")
            return error as? InvalidFieldError
        }
    }

    @Test func validFieldsAreSetAndAdded() throws {
        var fields: HTTPFields = [.custom("X-Tenant"): "blue", .accept: "a/b"]
        try fields.set("x-tenant", "grün \t 7")
        try fields.add(.accept, "c/d")
        try fields.add("X-Empty", "")
        #expect(
            fields[.custom("X-Tenant")] == "grün \t 7" && fields[values: .accept] == ["a/b", "c/d"] && fields[.custom("X-Empty")] == "")
        try fields.set(.accept, "e/f")
        #expect(fields[values: .accept] == ["e/f"])
        #expect(try HTTPFields(checking: ["X-A": "1"]) == [.custom("X-A"): "1"])
        #expect(try HTTPFields(checking: ["a": "1", "b": "2", "A": "3"] as KeyValuePairs).map(\.value) == ["1", "2", "3"])
        #expect(try HTTPFields(checking: [:]).isEmpty)
    }

    @Test(
        arguments: [
            ("X Foo", 1, 0x20), ("X:", 1, 0x3A), ("naïve", 2, 0xC3), ("\r\nX", 0, 0x0D), ("X\0", 1, 0), ("(", 0, 0x28),
        ] as [(String, Int, UInt8)])
    func anInvalidNameIsAnError(_ name: String, _ position: Int, _ octet: UInt8) {
        for problem in [
            error { try $0.set(name, "v") }, error { try $0.add(name, "v") }, error { $0 = try HTTPFields(checking: [name: "v"]) },
        ] {
            #expect(problem?.code == .invalidName && problem?.name == nil && problem?.position == position && problem?.octet == octet)
        }
    }

    @Test(
        arguments: [
            ("a\nb", 1, 0x0A), ("a\r\nX-Admin: 1", 1, 0x0D), (" a", 0, 0x20), ("a\t", 1, 0x09), ("é\u{7F}", 2, 0x7F), ("\0", 0, 0),
            (" ", 0, 0x20),
        ] as [(String, Int, UInt8)])
    func anInvalidValueIsAnErrorAndIsNeverChanged(_ value: String, _ position: Int, _ octet: UInt8) {
        let tenant = HTTPField.Name.custom("X-Tenant")
        for problem in [error { try $0.set(tenant, value) }, error { try $0.add("X-Tenant", value) }] {
            #expect(problem?.code == .invalidValue && problem?.name == tenant)
            #expect(problem?.position == position && problem?.octet == octet)
        }
    }

    /// Each octet is valid exactly if swift-http-types would send it unchanged.
    @Test func theRuleIsThatOfTheFieldsThemselves() {
        for octet in UInt8.min...0x7F {
            let text = String(Unicode.Scalar(octet))
            for value in [text, "a" + text + "b", "a" + text] {
                #expect((error { try $0.set(.accept, value) } == nil) == HTTPField.isValidValue(value), "\(octet)")
            }
            for name in [text, "a" + text] {
                let found = error { try $0.set(name, "v") }
                #expect((found == nil) == (HTTPField.Name(name) != nil), "\(octet)")
                if let found { #expect(found.octet == octet && found.position == name.utf8.count - 1) }
            }
        }
        #expect(error { try $0.set("", "v") }?.description == "invalid name of a header field: it is empty")
    }

    @Test func theTextHasThePositionAndNoValue() {
        #expect(
            "\(error { try $0.set("X-Tenant", "blue\n") }!)"
                == "invalid value of the header field X-Tenant: the octet 0xA at position 4 is not allowed"
        )
        #expect(
            "\(error { try $0.set("X-Tenant", "blue ") }!)"
                == "invalid value of the header field X-Tenant: the octet 0x20 at position 4 is not allowed at the beginning or the end")
        #expect("\(error { try $0.set("X Foo", "v") }!)" == "invalid name of a header field: the octet 0x20 at position 1 is not allowed")
        let secret = error { try $0.set(.authorization, "Bearer hunter2\n") }!
        #expect(secret.octet == nil && secret.position == 14)
        #expect("\(secret)" == "invalid value of the header field Authorization: the octet at position 14 is not allowed")
        // A value in the place of the name is not shown either.
        let swapped = error { try $0.set("Bearer hunter2", "Authorization") }!
        for problem in [secret, swapped] {
            var dumped = ""
            dump(problem, to: &dumped)
            for text in ["\(problem)", String(reflecting: problem), dumped, problem.localizedDescription, problem.failureReason ?? ""] {
                #expect(!text.contains("hunter2"))
            }
            #expect(problem.errorDescription == "The content of the request could not be created." && !problem.mayHaveBeenProcessed)
        }
    }

    @Test(arguments: [("", 0), (" k", 0), ("k ", 1), ("k\n", 1), ("schlüssel", 4)])
    func anInvalidIdempotencyKeyIsAnError(_ value: String, _ position: Int) {
        let problem = #expect(throws: InvalidFieldError.self) { try IdempotencyKey.value(value) }
        #expect(problem?.name == .idempotencyKey && problem?.position == position && problem?.octet == nil)
        let what = value.isEmpty ? "it is empty" : "the octet at position \(position) is not allowed"
        #expect(problem?.description == "invalid value of the header field Idempotency-Key: \(what)")
    }
}
