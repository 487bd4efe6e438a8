import ErrandCore
import Foundation
import Testing

@testable import ErrandTransfers

@Suite(.timeLimit(.minutes(5))) struct UploadResumptionTests {
    private func value() throws -> UploadResumption {
        var value = UploadResumption(.resumable(version: 6), target: "0123456789abcdef", total: 10)
        (value.fileName, value.bytes, value.modified, value.contentID) = ("a.zip", 5, 1_800_000_000_123_456_789, "id")
        value.url = try HTTPURL("https://b.example/u/1?signature=hidden")
        value.origin = try HTTPURL("https://a.example:8443").origin
        value.expires = Date(timeIntervalSince1970: 1_800_000_000)
        value.mayBeComplete = true
        return value
    }

    @Test func aValueIsCodedAndDecoded() throws {
        let value = try value()
        #expect(try JSONDecoder().decode(UploadResumption.self, from: JSONEncoder().encode(value)) == value)
        let new = UploadResumption(.tus, target: "x", total: 0)
        #expect(try JSONDecoder().decode(UploadResumption.self, from: JSONEncoder().encode(new)) == new)
        #expect(!new.canContinue && "\(new)" == "content, 0 of 0 bytes, starts again")
    }

    @Test func theDescriptionHidesTheURL() throws {
        let value = try value()
        #expect("\(value)" == "a.zip, 5 of 10 bytes, can continue")
        var text = ""
        dump(value, to: &text)
        dump(TransferResumption.upload(value), to: &text)
        #expect(!text.contains("hidden") && !text.contains("b.example") && !String(reflecting: value).contains("hidden"))
        let error = TransferError(.changed, "x", resumption: .upload(value))
        dump(error, to: &text)
        #expect(!"\(error)".contains("b.example") && !text.contains("b.example"))
    }

    @Test(
        arguments: [
            #""schema":2"#, #""protocol":"tus 2""#, #""protocol":"resumable 7""#, #""bytes":-1"#, #""bytes":11"#, #""total":-1"#,
            #""fileName":"""#, #""fileName":"../a""#, #""fileName":"a\u0000""#, #""url":"ftp://a.example/""#, #""url":"/relative""#,
            #""url":"https://me:secret@a.example/""#, #""url":"https://a.example/\#(String(repeating: "a", count: 9_000))""#,
            #""origin":"x""#, #""contentID":"\#(String(repeating: "a", count: 2_000))""#,
            #""target":"\#(String(repeating: "a", count: 65))""#,
            #""bytes":1e99"#, #""url":"https://a.example/\r\nX: y""#,
        ])
    func aForgedValueIsRefused(_ member: String) throws {
        let key = try #require(member.split(separator: "\"").first.map(String.init))
        var members = [
            "schema": "1", "protocol": #""tus 1.0.0""#, "target": #""t""#, "bytes": "5", "total": "10", "url": #""https://a.example/u""#,
        ]
        func text() -> String { "{" + members.map { "\"\($0.key)\":\($0.value)" }.joined(separator: ",") + "}" }
        #expect(throws: Never.self) { try JSONDecoder().decode(UploadResumption.self, from: Data(text().utf8)) }
        members[key] = String(member.dropFirst(key.count + 3))
        #expect(throws: DecodingError.self) { try JSONDecoder().decode(UploadResumption.self, from: Data(text().utf8)) }
    }

    @Test func theHashIsTheSameInEachProcess() throws {
        // The values of FNV-1a with 64 bits.
        #expect(UploadJournal.hash("") == "cbf29ce484222325" && UploadJournal.hash("a") == "af63dc4c8601ec8c")
        let first = UploadJournal.target(of: try Request(.post, url: "https://a.example/f?x=1"), contentID: nil)
        #expect(first == UploadJournal.target(of: try Request(.post, url: "https://a.example/f?x=2"), contentID: nil))
        #expect(first != UploadJournal.target(of: try Request(.post, url: "https://a.example/g"), contentID: nil))
        #expect(first != UploadJournal.target(of: try Request(.post, url: "https://a.example/f"), contentID: "0-5"))
    }
}
