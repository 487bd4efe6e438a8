import Testing
@testable import ErrandCache
@Test func smoke() throws {
    var cache = PureCache { _ in .init(head: response("Cache-Control: max-age=60"), body: [1]) }
    #expect(try !cache.send(request()).isHit)
    #expect(try cache.send(request()).isHit)
}
