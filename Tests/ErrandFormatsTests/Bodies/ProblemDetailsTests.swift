import ErrandFormats
import Foundation
import Testing

@Suite(.timeLimit(.minutes(5))) struct ProblemDetailsTests {
    /// Both ways of reading one agree.
    private func problem(_ json: String) throws -> ProblemDetails {
        let parsed = try ProblemDetails(parsing: json.utf8)
        #expect(try JSONDecoder().decode(ProblemDetails.self, from: Data(json.utf8)) == parsed)
        return parsed
    }

    @Test func allMembersAreRead() throws {
        let problem = try problem(
            #"{"type":"https://e.example/out","title":"Out","status":403,"detail":"d","instance":"/i","balance":30,"accounts":["a",null,{"b":true}]}"#
        )
        #expect(problem.type == "https://e.example/out" && problem.title == "Out" && problem.status == 403)
        #expect(problem.detail == "d" && problem.instance == "/i")
        #expect(problem.extensions == ["balance": 30, "accounts": ["a", nil, ["b": true]]])
        #expect(problem.description == "Out https://e.example/out")
    }

    @Test func everyMemberIsOptional() throws {
        let problem = try problem("{}")
        #expect(
            problem.type == "about:blank" && problem.title == nil && problem.status == nil && problem.detail == nil
                && problem.instance == nil)
        #expect(problem.extensions.isEmpty && problem.description == "")
    }

    @Test func membersOfTheWrongTypeAreIgnored() throws {
        let problem = try problem(#"{"type":1,"title":["t"],"status":"403","detail":{},"instance":null,"more":1}"#)
        #expect(
            problem.type == "about:blank" && problem.title == nil && problem.status == nil && problem.detail == nil
                && problem.instance == nil)
        #expect(problem.extensions == ["more": 1])
    }

    @Test(arguments: [
        ("100", 100), ("599", 599), ("403.0", 403), ("99", nil), ("600", nil), ("-1", nil), ("403.5", nil), ("1e300", nil), ("true", nil),
    ])
    func aStatusOutsideTheRangeIsNil(_ json: String, _ status: Int?) throws {
        #expect(try problem("{\"status\":\(json)}").status == status)
    }

    @Test(arguments: ["[]", "1", "null", "", "{", "\"x\""])
    func textWithoutAnObjectFails(_ json: String) {
        #expect(throws: (any Error).self) { try ProblemDetails(parsing: json.utf8) }
        #expect(throws: (any Error).self) { try JSONDecoder().decode(ProblemDetails.self, from: Data(json.utf8)) }
    }

    @Test func aDumpHasOnlyTheDescription() throws {
        let problem = try problem(#"{"title":"Out","password":"s3cret","detail":"s3cret","instance":"s3cret"}"#)
        var dumped = ""
        dump(problem, to: &dumped)
        #expect(!dumped.contains("s3cret") && dumped.contains("Out"), "\(dumped)")
        #expect(!String(reflecting: problem).contains("s3cret"))
    }
}
