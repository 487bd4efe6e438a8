import ErrandCore
import Foundation
import Testing

@testable import ErrandTransfers

@Suite(.timeLimit(.minutes(5))) struct DownloadResumptionTests {
    @Test func aValueIsCodedAndDecoded() throws {
        var value = DownloadResumption(fileName: "a.zip")
        (value.bytes, value.total, value.validator, value.coding) = (5, 10, "\"a\"", "gzip")
        value.digest = IntegrityDigest(.sha512, octets: Array(repeating: 1, count: 64))
        let data = try JSONEncoder().encode(value)
        #expect(try JSONDecoder().decode(DownloadResumption.self, from: data) == value)
        #expect(value.description == "a.zip, 5 of 10 bytes, can continue")
    }

    @Test(
        arguments: [
            #"{"fileName":"a","bytes":1}"#, #"{"schema":2,"fileName":"a","bytes":1}"#, #"{"schema":1,"fileName":"","bytes":1}"#,
            #"{"schema":1,"fileName":"../a","bytes":1}"#, #"{"schema":1,"fileName":"a\u0000","bytes":1}"#,
            #"{"schema":1,"fileName":"a","bytes":-1}"#, #"{"schema":1,"fileName":"a","bytes":5,"total":4}"#,
            #"{"schema":1,"fileName":"a","bytes":1,"validator":"W/\"a\""}"#, #"{"schema":1,"fileName":"a","bytes":1,"validator":"x\r\ny"}"#,
            #"{"schema":1,"fileName":"a","bytes":1,"digest":{"algorithm":"md5","octets":[]}}"#,
            #"{"schema":1,"fileName":"a","bytes":1,"digest":{"algorithm":"sha-256","octets":[1]}}"#,
            #"{"schema":1,"fileName":"a","bytes":1e99}"#,
            #"{"schema":1,"fileName":"\#(String(repeating: "a", count: 256))","bytes":1}"#,
        ])
    func aForgedValueIsRefused(_ text: String) {
        #expect(throws: DecodingError.self) { try JSONDecoder().decode(DownloadResumption.self, from: Data(text.utf8)) }
    }
}
