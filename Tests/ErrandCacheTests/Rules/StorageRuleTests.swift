import ErrandCore
import HTTPTypes
import Testing

@testable import ErrandCache

/// RFC 9111, section 3: storing responses in caches.
@Suite(.timeLimit(.minutes(5))) struct StorageRuleTests {
    typealias Refusal = CacheStatus.Refusal

    private func refusal(
        _ response: HTTPResponse, to request: Request = request(), _ policy: CachePolicy = .standard, mode: CachePolicy.Mode = .standard,
        digest: @escaping @Sendable (String) -> [UInt8]? = testDigest
    ) -> Refusal? {
        let rule = StorageRule(policy: policy, variants: VariantRule(digest: digest))
        let read = read(request, mode: mode, scope: policy.scope)
        do {
            _ = try rule.head(of: response, for: read, requestTime: instant(), responseTime: instant(1))
            return nil
        } catch {
            return error
        }
    }

    @Test(
        arguments: [
            // Section 3: a statement of the server, or a status that permits a heuristic.
            (200, [], nil), (203, [], nil), (204, [], nil), (300, [], nil), (301, [], nil), (308, [], nil), (404, [], nil), (405, [], nil),
            (410, [], nil), (414, [], nil), (501, [], nil), (201, [], .noLifetime), (202, [], .noLifetime), (302, [], .noLifetime),
            (303, [], .noLifetime), (307, [], .noLifetime), (400, [], .noLifetime), (401, [], .noLifetime), (403, [], .noLifetime),
            (429, [], .noLifetime), (500, [], .noLifetime), (503, [], .noLifetime), (599, [], .noLifetime), (304, [], .status),
            (100, [], .status), (199, ["Cache-Control: max-age=60"], .status), (304, ["Cache-Control: max-age=60"], .status),
            (201, ["Cache-Control: max-age=60"], nil), (500, ["Cache-Control: max-age=60"], nil), (599, ["Cache-Control: public"], nil),
            (302, ["Expires: 0"], nil), (403, ["Cache-Control: private"], nil), (403, ["Cache-Control: private=\"x\""], nil),
            (403, ["Cache-Control: s-maxage=60"], .noLifetime), (403, ["Cache-Control: must-revalidate"], .noLifetime),
            (403, ["Cache-Control: max-age=x"], nil),
            // Section 5.2.2.5: no-store, in any company.
            (200, ["Cache-Control: no-store"], .noStore), (200, ["Cache-Control: nO-StOrE"], .noStore),
            (200, ["Cache-Control: max-age=60, no-store"], .noStore),
            (200, ["Cache-Control: max-age=60", "Cache-Control: no-store"], .noStore),
            (200, ["Cache-Control: public, no-store=x"], .noStore), (200, ["Cache-Control: x=\"no-store\""], nil),
            (200, ["Cache-Control: x=\"y, no-store"], .noStore), (200, ["Cache-Control: no-cache"], nil),
            // Section 5.2.2.3: must-understand.
            (200, ["Cache-Control: no-store, must-understand, max-age=60"], nil), (200, ["Cache-Control: must-understand"], nil),
            (599, ["Cache-Control: no-store, must-understand, max-age=60"], .status),
            (599, ["Cache-Control: must-understand, max-age=60"], .status),
            (200, ["Cache-Control: no-store, must-understand=1"], .noStore), (299, ["Cache-Control: must-understand, max-age=9"], .status),
            // RFC 9110, section 12.5.5, and RFC 9111, section 4.1.
            (200, ["Vary: *"], .varyAny), (200, ["Vary: *", "ETag: \"a\""], nil),
            (200, ["Vary: a, *", "Last-Modified: \(date(-9))"], .varyAny),
            (200, ["Vary: a b"], .varyAny), (200, ["Vary: Accept, Accept-Encoding"], nil),
            (200, ["Vary: \((0..<17).map { "f\($0)" }.joined(separator: ", "))"], .varyAny),
            // A 206 without a request for a range.
            (206, ["Content-Range: bytes 0-4/10", "Cache-Control: max-age=60"], .range),
        ] as [(Int, [String], Refusal?)])
    func aPrivateCacheStores(_ status: Int, _ lines: [String], _ expected: Refusal?) {
        #expect(refusal(response(lines, status: status)) == expected)
    }

    @Test(
        arguments: [
            ([], [], nil), ([], ["Cache-Control: private"], .private), ([], ["Cache-Control: private, max-age=60"], .private),
            // Section 5.2.2.7: the named fields alone.
            ([], ["Cache-Control: private=\"x\", max-age=60"], nil), ([], ["Cache-Control: private=\"cache-control\""], .private),
            ([], ["Cache-Control: private=\"a b\", max-age=60"], .private), ([], ["Cache-Control: s-maxage=60"], nil),
            // Section 3.5: requests with credentials.
            (["Authorization: x"], ["Cache-Control: max-age=60"], .credentials), (["Authorization: x"], [], .credentials),
            (["Authorization: x"], ["Cache-Control: public"], nil), (["Authorization: x"], ["Cache-Control: s-maxage=60"], nil),
            (["Authorization: x"], ["Cache-Control: max-age=60, must-revalidate"], nil),
            (["Authorization: x"], ["Cache-Control: max-age=60, proxy-revalidate"], .credentials),
            (["Authorization: x"], ["Cache-Control: public, private"], .private),
        ] as [([String], [String], Refusal?)])
    func aSharedCacheStores(_ sent: [String], _ lines: [String], _ expected: Refusal?) {
        var request = request()
        request.headers = fields(sent)
        #expect(refusal(response(lines), to: request, .shared) == expected)
        let status: Refusal? =
            expected == nil && !lines.joined().contains("=60") && !lines.joined().contains("public") ? .noLifetime : expected
        #expect(refusal(response(lines, status: 403), to: request, .shared) == status)
    }

    @Test func credentialsNeedAnIdentityInAPrivateCache() {
        let identity = CredentialIdentity(scheme: "bearer", account: "ada")
        #expect(refusal(response("Cache-Control: max-age=60"), to: request("Authorization: x")) == .noAccount)
        #expect(refusal(response("Cache-Control: max-age=60"), to: request("Authorization: x", identity: identity)) == nil)
        #expect(refusal(response("Cache-Control: private"), to: request(identity: identity)) == nil)
    }

    @Test(
        arguments: [
            (.get, nil), (.query, nil), (.head, .method), (.options, .method), (.put, .method), (.delete, .method), (.trace, .method),
        ] as [(HTTPRequest.Method, Refusal?)])
    func onlySomeMethodsAreStored(_ method: HTTPRequest.Method, _ expected: Refusal?) {
        #expect(refusal(response("Cache-Control: max-age=60", "Content-Location: /items"), to: request(method: method)) == expected)
    }

    /// RFC 9110, section 9.3.3, and RFC 5789, section 2.
    @Test(
        arguments: [
            (200, ["Cache-Control: max-age=60", "Content-Location: /items"], nil),
            (200, ["Expires: \(date(60))", "Content-Location: items"], nil),
            (200, ["Cache-Control: max-age=60", "Content-Location: https://API.example:443/items"], nil),
            (200, ["Cache-Control: max-age=60"], .method), (200, ["Content-Location: /items"], .method),
            (200, ["Cache-Control: max-age=60", "Content-Location: /items/1"], .method),
            (200, ["Cache-Control: max-age=60", "Content-Location: https://other.example/items"], .method),
            (200, ["Cache-Control: max-age=60, no-store", "Content-Location: /items"], .noStore),
            (201, ["Cache-Control: max-age=60", "Content-Location: /items"], .method),
            (500, ["Cache-Control: max-age=60", "Content-Location: /items"], .method),
        ] as [(Int, [String], Refusal?)], [HTTPRequest.Method.post, .patch])
    func aResponseToPostIsTheNewRepresentation(_ row: (Int, [String], Refusal?), _ method: HTTPRequest.Method) {
        #expect(refusal(response(row.1, status: row.0), to: request(method: method)) == row.2)
    }

    /// RFC 9111, section 3.3, and RFC 9110, section 15.3.7.
    @Test(
        arguments: [
            ("bytes=0-4", "bytes 0-4/10", nil), ("bytes=-5", "bytes 5-9/10", nil), ("bytes=0-", "bytes 0-4/*", nil),
            ("bytes=0-4", "bytes */10", .range), ("bytes=0-4", "items 0-4/10", .range), ("bytes=0-4", "x", .range),
            ("bytes=0-1,3-4", "bytes 0-1/10", .range), ("items=0-4", "bytes 0-4/10", .range), ("bytes=x", "bytes 0-4/10", .range),
        ] as [(String, String, Refusal?)])
    func aPartIsStoredIfItIsOneRange(_ range: String, _ content: String, _ expected: Refusal?) {
        let part = response("Content-Range: \(content)", "Cache-Control: max-age=60", status: 206)
        #expect(refusal(part, to: request("Range: \(range)")) == expected)
    }

    /// The offsets of a range are offsets in the encoded bytes.
    @Test func aPartOfDecodedBytesIsNotStored() {
        let rule = StorageRule(policy: .standard, variants: VariantRule(digest: testDigest))
        let part = response("Content-Range: bytes 0-4/10", "Cache-Control: max-age=60", status: 206)
        for isDecoded in [false, true] {
            let asked = read(request("Range: bytes=0-4"), isDecoded: isDecoded)
            let head = try? rule.head(of: part, for: asked, requestTime: instant(), responseTime: instant())
            #expect((head == nil) == isDecoded)
        }
    }

    /// The statuses of RFC 9110, section 15, and 429. 306 and 418 are unused.
    @Test func theUnderstoodStatusesAre() {
        let expected = [
            Array(200...206), Array(300...305), [307, 308], Array(400...417), [421, 422, 426, 429], Array(500...505),
        ].flatMap(\.self)
        #expect((100...599).filter { StorageRule.isUnderstood(HTTPResponse.Status(code: $0)) } == expected)
    }

    @Test func aRequestCanForbidStoring() {
        #expect(refusal(response("Cache-Control: max-age=60"), to: request("Cache-Control: no-store")) == .requestForbids)
        #expect(refusal(response("Cache-Control: max-age=60, must-understand"), to: request("Cache-Control: no-store")) == .requestForbids)
    }

    @Test func secretFieldsNeedADigest() {
        let varying = response("Cache-Control: max-age=60", "Vary: Cookie")
        let ada = CredentialIdentity(scheme: "bearer", account: "ada")
        #expect(refusal(varying, to: request("Cookie: a=b")) == .noAccount)
        #expect(refusal(varying, to: request("Cookie: a=b", identity: ada)) == nil)
        #expect(refusal(varying, to: request("Cookie: a=b", identity: ada), digest: { _ in nil }) == .varySecret)
        // A field that is not there keeps no secret.
        #expect(refusal(varying, digest: { _ in nil }) == nil)
    }

    @Test func aHeadHasALimit() {
        func head(_ bytes: Int) -> HTTPResponse { response("Cache-Control: max-age=60", "X: \(String(repeating: "x", count: bytes))") }
        #expect(refusal(head(65_000)) == nil && refusal(head(65_536)) == .headTooLarge)
    }

    @Test func aURLHasALimit() {
        func url(_ bytes: Int) -> Request { request(url: "https://a.example/" + String(repeating: "x", count: bytes - 18)) }
        #expect(refusal(response("Cache-Control: max-age=60"), to: url(8192)) == nil)
        #expect(refusal(response("Cache-Control: max-age=60"), to: url(8193)) == .urlTooLong)
    }

    @Test func theAppDecides() {
        let never = CachePolicy.standard.deciding { _ in .notStored }
        let always = CachePolicy.standard.deciding { _ in .fresh(for: .seconds(60)) }
        #expect(refusal(response("Cache-Control: max-age=60"), never) == .app)
        #expect(refusal(response(status: 403), always) == nil)
        #expect(refusal(response("Cache-Control: no-store"), always) == .noStore)
        #expect(refusal(response("Vary: *"), always) == .varyAny)
        #expect(refusal(response(status: 403), .standard.deciding { _ in .byPolicy }) == .noLifetime)
        #expect(refusal(response(status: 500), .fresh(for: .seconds(60))) == .noLifetime)
        #expect(refusal(response(status: 201), .fresh(for: .seconds(60))) == nil)
    }

    private func refusal(_ response: HTTPResponse, _ policy: CachePolicy) -> Refusal? { refusal(response, to: request(), policy) }
}
