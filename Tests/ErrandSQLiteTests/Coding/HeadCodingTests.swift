#if SQLite
import ErrandCache
import ErrandCore
import Foundation
import HTTPTypes
import Testing

@testable import ErrandSQLite

/// The octets of the head of an entry.
@Suite(.timeLimit(.minutes(5))) struct HeadCodingTests {
    private static let instants = (
        CacheInstant(sinceEpoch: .milliseconds(-1_500), uptime: .nanoseconds(7), run: .max),
        CacheInstant(sinceEpoch: .seconds(1_900_000_000), uptime: .zero, run: 0)
    )

    private static func head(
        _ fields: HTTPFields = HTTPFields(), status: HTTPResponse.Status = .ok, selection: CacheSelection = CacheSelection(),
        extent: CacheExtent = .whole(length: 0), lifetimes: CacheLifetimes? = nil, isDecoded: Bool = false
    ) -> CacheEntry.Head {
        CacheEntry.Head(
            response: HTTPResponse(status: status, headerFields: fields), requestTime: instants.0, responseTime: instants.1,
            selection: selection, extent: extent, lifetimes: lifetimes, isDecoded: isDecoded)
    }

    /// Heads in which each part has each of its cases.
    private static func heads() throws -> [CacheEntry.Head] {
        let odd = try #require(HTTPField.Name("X-Odd"))
        let selection = CacheSelection(
            fields: [
                .init(name: .accept, value: .absent), .init(name: .authorization, value: .account),
                .init(name: .acceptLanguage, value: .text("de, en")), .init(name: .cookie, value: .digest([0, 255, 7])),
            ], isUnmatchable: true)
        return [
            head(), head([.eTag: "\"1\"", .setCookie: "a=b", odd: ""], status: .init(code: 299, reasonPhrase: "Fine")),
            head(selection: selection, extent: .part(5..<10, completeLength: 20), isDecoded: true),
            head(extent: .part(0..<1, completeLength: nil), lifetimes: CacheLifetimes(fresh: .seconds(60))),
            head(
                extent: .whole(length: .max),
                lifetimes: CacheLifetimes(fresh: .zero, staleWhileRevalidate: .milliseconds(1), staleIfError: .seconds(2))),
        ]
    }

    @Test func aHeadIsReadAsItWasWritten() throws {
        for head in try Self.heads() {
            let read = try CacheEntry.Head(encoded: head.encoded)
            #expect(read.response == head.response)
            #expect(read.requestTime == head.requestTime && read.responseTime == head.responseTime)
            #expect(read.selection == head.selection && read.extent == head.extent)
            #expect(read.lifetimes == head.lifetimes && read.isDecoded == head.isDecoded)
        }
    }

    /// The octets of a field's value need not be text.
    @Test func theOctetsOfAValueAreKept() throws {
        var fields = HTTPFields()
        fields.append(HTTPField(name: .server, value: [0x61, 0xFF, 0xE4]))
        let read = try CacheEntry.Head(encoded: Self.head(fields).encoded)
        #expect(read.response.headerFields.first?.withUnsafeBytesOfValue { Array($0) } == [0x61, 0xFF, 0xE4])
    }

    @Test func aHeadThatIsCutOrLongerIsDamaged() throws {
        for head in try Self.heads() {
            let data = head.encoded
            for count in 0..<data.count {
                #expect(throws: StoredPiece.Damaged.self, "\(count) octets") { try CacheEntry.Head(encoded: data.prefix(count)) }
            }
            #expect(throws: StoredPiece.Damaged.self) { try CacheEntry.Head(encoded: data + [0]) }
        }
    }

    /// Changed octets give another head, or are damaged. No change ends the program.
    @Test func aChangedOctetDoesNoHarm() throws {
        for head in try Self.heads() {
            let data = head.encoded
            for index in data.indices {
                for octet in [0, 1, 0x7F, 0x80, 0xFF] as [UInt8] {
                    var changed = data
                    changed[index] = octet
                    do { _ = try CacheEntry.Head(encoded: changed) } catch { #expect(error is StoredPiece.Damaged) }
                }
            }
        }
    }

    /// A list can't claim more elements than the rest has octets.
    @Test func aCountThatIsTooLargeReservesNothing() throws {
        var writer = OctetWriter()
        writer.flag(false)
        writer.number(.max)
        var reader = OctetReader(writer.data)
        #expect(throws: StoredPiece.Damaged.self) { try CacheSelection.decoded(from: &reader) }
    }

    @Test(arguments: [
        (Duration.milliseconds(1_500), Int64(1_500_000)), (.nanoseconds(999), 0), (.seconds(-2), -2_000_000),
        (.seconds(Int64.max), .max), (.seconds(Int64.min), .min),
    ])
    func microsecondsHaveNoOverflow(_ sinceEpoch: Duration, _ microseconds: Int64) {
        #expect(CacheInstant(sinceEpoch: sinceEpoch, uptime: .zero, run: 0).microseconds == microseconds)
    }
}
#endif
