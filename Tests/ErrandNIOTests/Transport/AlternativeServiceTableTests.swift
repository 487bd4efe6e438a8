#if SWIFT_NIO
@testable import ErrandNIO
import ErrandCore
import TestSupport
import Testing

@Suite(.timeLimit(.minutes(5))) struct AlternativeServiceTableTests {
    private func response(_ value: String, age: String? = nil, status: Int = 200) -> HTTPResponse {
        var fields: HTTPFields = [.known("Alt-Svc"): value]
        if let age { fields[.known("Age")] = age }
        return HTTPResponse(status: .init(code: status), headerFields: fields)
    }

    private func found(_ table: AlternativeServiceTable, _ origin: Origin, at seconds: Int) -> String {
        table.services(for: origin, at: .seconds(seconds)).map(\.description).joined(separator: ", ")
    }

    @Test func aServiceIsForgottenAfterItsTime() {
        let (table, origin) = (AlternativeServiceTable(), Origin("https://a.example"))
        table.receive(response(#"h3=":443"; ma=10, h2=":8443"; ma=20"#), from: origin, at: .seconds(100))
        #expect(found(table, origin, at: 100) == #"h3=":443"; ma=10, h2=":8443"; ma=20"#)
        #expect(found(table, origin, at: 109) == #"h3=":443"; ma=1, h2=":8443"; ma=11"#)
        #expect(found(table, origin, at: 110) == #"h2=":8443"; ma=10"#)
        #expect(found(table, origin, at: 120) == "")
    }

    /// RFC 7838, section 3.1.
    @Test func theAgeOfTheResponseCounts() {
        let (table, origin) = (AlternativeServiceTable(), Origin("https://a.example"))
        table.receive(response(#"h3=":443"; ma=10"#, age: "4"), from: origin, at: .zero)
        #expect(found(table, origin, at: 0) == #"h3=":443"; ma=6"#)
        table.receive(response(#"h3=":443"; ma=10"#, age: "-4"), from: origin, at: .zero)
        #expect(found(table, origin, at: 0) == #"h3=":443"; ma=10"#)
    }

    /// A value of many combining marks takes no more time for each byte than a short one. It is read on the event loop.
    @Test func aLongValueIsNotComparedAsText() {
        let (table, origin) = (AlternativeServiceTable(), Origin("https://a.example"))
        let ratio = growth(of: 2000) {
            response("clear" + String(repeating: "\u{300}\u{316}", count: $0))
        } _: {
            table.receive($0, from: origin, at: .zero)
        }
        #expect(ratio < 24)
    }

    @Test func eachValueReplacesTheFormer() {
        let (table, origin) = (AlternativeServiceTable(), Origin("https://a.example"))
        for (value, expected) in [
            (#"h3=":1""#, #"h3=":1""#), (#"h3=":2""#, #"h3=":2""#), ("clear", ""), (#"h3=":3""#, #"h3=":3""#),
            (#"h3=":4""# + String(repeating: ",", count: 4096), ""), (#"h3=":5""#, #"h3=":5""#), ("nothing valid", ""),
        ] {
            table.receive(response(value), from: origin, at: .zero)
            #expect(found(table, origin, at: 0) == expected)
        }
    }

    @Test func otherOriginsCannotDeclareServices() {
        let table = AlternativeServiceTable()
        let (secure, plain) = (Origin("https://a.example"), Origin("http://a.example"))
        table.receive(response(#"h3=":1""#), from: plain, at: .zero)
        table.receive(response(#"h3=":1""#, status: 421), from: secure, at: .zero)
        #expect(found(table, plain, at: 0) == "")
        #expect(found(table, secure, at: 0) == "")
    }

    @Test func theOriginsAreBounded() {
        let table = AlternativeServiceTable()
        for number in 0...AlternativeServiceTable.originLimit {
            table.receive(response(#"h3=":1""#), from: Origin("https://a\(number).example"), at: .zero)
        }
        #expect(found(table, Origin("https://a0.example"), at: 0) == "")
        #expect(found(table, Origin("https://a1.example"), at: 0) == #"h3=":1""#)
    }
}
#endif
