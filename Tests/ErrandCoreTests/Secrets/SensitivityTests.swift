import Errand
import ErrandTesting
import Testing

@testable import ErrandCore
@testable import ErrandFormats

@Suite(.timeLimit(.minutes(5))) struct SensitivityTests {
    private let standard = Sensitivity.standard

    private func shown(_ name: String, _ value: String, by sensitivity: Sensitivity = .standard) throws -> String {
        sensitivity.shownValue(of: HTTPField(name: try #require(HTTPField.Name(name)), value: value))
    }

    @Test func secretFieldsGetTheNeverIndexFlag() throws {
        let mine = try #require(HTTPField.Name("X-Mine"))
        let fields: HTTPFields = [.authorization: "S", .accept: "a", .cookie: "S", mine: "S"]
        let marked = fields.markingSensitive(by: Sensitivity(fields: [mine]))
        #expect(marked.map(\.name) == [.authorization, .accept, .cookie, mine])
        #expect(marked.map { $0.indexingStrategy == .disallow } == [true, false, true, true])
        let plain: HTTPFields = [.accept: "a"]
        #expect(plain.markingSensitive(by: .standard) == plain)
    }

    @Test(arguments: [
        "Authorization", "proxy-authorization", "COOKIE", "Set-Cookie", "X-Api-Key", "X-Auth-Token", "X-CSRF-Token", "My-Client-Secret",
        "Db-Password",
        "x-goog-iap-jwt-assertion", "DPoP", "X-Credential-Id", "X-Authorization", "X-Emby-Authorization", "X-Original-Authorization",
        "X-Forwarded-Authorization", "X-ClickHouse-Key", "X-Access-Key", "X-Passphrase", "X-JWT", "X-Auth-Pass", "Pass", "Subscription-Key",
        "X-Amz-Server-Side-Encryption-Customer-Key", "X-Private_Key", "X-Anything-Key", "X-AppKey", "X-Nonpublic-Key", "X-Unsort-Key",
        "X-CacheGroup-Key",
    ])
    func namesOfSecretFieldsAreRecognized(_ name: String) throws {
        #expect(try shown(name, "S1") == "<redacted>")
    }

    @Test(arguments: [
        "Accept", "Content-Type", "Date", "ETag", "X-Request-Id", "Authority", "Key", "Idempotency-Key", "X-Idempotency-Key",
        "Sec-WebSocket-Key",
        "Key-Pair-Id", "Surrogate-Key", "X-Cache-Key", "X-Partition-Key", "X-Keyboard", "X-Monkey", "X-Passenger", "X-Compass", "X-Bypass",
        "X-Pass-Through", "X-Authorized", "X-Public-Key", "Access-Control-Allow-Credentials", "X-Keys", "X-Author",
    ])
    func plainFieldsAreShown(_ name: String) throws {
        #expect(try shown(name, "plain") == "plain")
    }

    @Test(arguments: [
        ("token", true), ("ACCESS_TOKEN", true), ("api-key", true), ("apikey", true), ("X-Amz-Signature", true), ("sig", true),
        ("code", true), ("key", true),
        ("password", true), ("user[password]", true), ("subscription-key", true), ("pass", true), ("user[pass]", true), ("db_pass", true),
        ("userPass", true), ("passphrase", true), ("access_key", true), ("private_key", true), ("auth_key", true), ("app_key", true),
        ("accessKeyId", true), ("jwt_assertion", true), ("X-Authorization", true), ("passenger", false), ("compass", false),
        ("keyboard", false),
        ("passes", false), ("pass_count", false), ("bypass", false), ("sort-key", false), ("foo-key", false), ("public_key", false),
        ("authorized", false), ("q", false), ("page", false), ("keyword", false), ("country_code", false),
        ("", false),
    ])
    func namesOfSecretQueryItemsAreRecognized(_ name: String, _ isSecret: Bool) {
        #expect(standard.isSensitive(queryName: name) == isSecret)
    }

    @Test func declaredNamesAddToTheKnownOnes() throws {
        var sensitivity = Sensitivity(fields: [HTTPField.Name("X-Mine")!], queryNames: ["Mine"])
        #expect(try shown("x-mine", "S1", by: sensitivity) == "<redacted>" && shown("x-mine", "S1") == "S1")
        #expect(sensitivity.redactedURL("/?mine=S1&token=S2&q=3") == "/?mine=REDACTED&token=REDACTED&q=3")
        sensitivity.formUnion(Sensitivity(fields: [HTTPField.Name("X-Other")!], queryNames: ["other"]))
        #expect(try shown("X-Other", "S1", by: sensitivity) == "<redacted>" && shown("X-Mine", "S1", by: sensitivity) == "<redacted>")
        #expect(sensitivity.isSensitive(queryName: "OTHER") && sensitivity.isSensitive(queryName: "mine"))
    }

    @Test func theNeverIndexFlagMakesAFieldSecret() {
        var field = HTTPField(name: .accept, value: "S1")
        #expect(!standard.isSensitive(field))
        field.indexingStrategy = .disallow
        #expect(standard.isSensitive(field) && standard.shownValue(of: field) == Sensitivity.placeholder)
        #expect(standard.shown([.accept: "a", .authorization: "S"]).map(\.value) == ["a", "<redacted>"])
    }

    @Test(arguments: ["Location", "Content-Location", "Referer", "Link", "Refresh", "X-Accel-Redirect", "X-Original-URL", "X-Other"])
    func fieldsThatHoldAURLAreShownWithoutItsSecrets(_ name: String) throws {
        #expect(try shown(name, "https://u:S1@a.example/x?token=S2&p=1#f") == "https://REDACTED:REDACTED@a.example/x?token=REDACTED&p=1#f")
        #expect(try shown(name, "/x?token=S2&p=1") == "/x?token=REDACTED&p=1")
    }

    @Test(arguments: [
        ("X-Other", "a; url=https://a.example/?token=S1", "a; url=https://a.example/?token=REDACTED"),
        // The values of these fields are neither paths nor URLs.
        ("X-Other", "page?token=S1", "page?token=S1"), ("Location", "page?token=S1", "page?token=REDACTED"),
        ("Content-Type", "text/html; charset=utf-8", "text/html; charset=utf-8"),
        ("User-Agent", "bot (+https://a.example; joe@a.example)", "bot (+https://a.example; joe@a.example)"),
    ])
    func otherFieldsAreShownAsTheyAre(_ name: String, _ value: String, _ expected: String) throws {
        #expect(try self.shown(name, value) == expected)
    }

    @Test(arguments: [
        ("", ""), ("/x", "/x"), ("/x?", "/x?"), ("?", "?"), ("#", "#"), ("//", "//"), ("@", "@"), ("//@", "//REDACTED:REDACTED@"),
        ("=", "="), ("?=", "?="), ("?&&=&", "?&&=&"),
        ("?token", "?token"), ("?token=", "?token=REDACTED"), ("?%74oken=S1", "?%74oken=REDACTED"), ("?%ZZtoken=S1", "?%ZZtoken=REDACTED"),
        ("?%FF%=1", "?%FF%=1"),
        ("?a=1&token=S1=S2?S3;S4&b=2", "?a=1&token=REDACTED&b=2"), ("?token=S1#x=1", "?token=REDACTED#x=1"),
        ("#access_token=S1&x=1", "#access_token=REDACTED&x=1"),
        ("/#/cb?code=S1", "/#/cb?code=REDACTED"), ("https://u@a.example", "https://REDACTED:REDACTED@a.example"),
        ("//u:S1@h:1/p", "//REDACTED:REDACTED@h:1/p"),
        ("https://u:S1@S2@h/", "https://REDACTED:REDACTED@h/"), ("/users/@me?x=a@b", "/users/@me?x=a@b"),
        ("/x?token=S1&next=https://u:S2@h/", "/x?token=REDACTED&next=https://REDACTED:REDACTED@h/"),
        ("/x?next=https://h/?token=S1&p=1", "/x?next=https://h/?token=REDACTED&p=1"), ("/x?a=//b&token=S1@S2", "/x?a=//b&token=REDACTED"),
        ("?a=1;token=S1", "?a=1;token=REDACTED"), ("</a?p=1>, <//u:S1@h/?sig=S2>", "</a?p=1>, <//REDACTED:REDACTED@h/?sig=REDACTED"),
        (
            "https://u:S1@\u{301}h/?\u{301}a=1&\u{301}token=S1&token\u{301}=2",
            "https://REDACTED:REDACTED@\u{301}h/?\u{301}a=1&\u{301}token=REDACTED&token\u{301}=REDACTED"
        ),
        ("?a\r\n&token=S1\r\n", "?a\r\n&token=REDACTED"),
    ])
    func anyTextIsShownAsAURLWithoutSecrets(_ text: String, _ expected: String) {
        #expect(standard.redactedURL(text) == expected)
    }

    @Test func randomTextNeverCrashesAndGrowsLinearly() {
        var random = SeededGenerator(seed: 7)
        let pieces = ["/", "//", "?", "#", "&", ";", "=", "@", ":", "%", "%4", "%41", "token", "a", "\u{301}", "\r\n", "é", "😀", "\0", " "]
        for _ in 0..<5_000 {
            let text = (0..<Int.random(in: 0...12, using: &random)).map { _ in pieces.randomElement(using: &random)! }.joined()
            #expect(standard.redactedURL(text).utf8.count <= text.utf8.count + 17 * text.utf8.count)
            _ = standard.redactedQuery(text)
        }
    }
}

extension SensitivityTests {
    @Test(
        arguments: [
            ("token", true), ("access_token", true), ("Password", true), ("clientSecret", true), ("apiKey", true), ("authorization", true),
            ("session_id", true), ("jwt", true), ("mine", true), ("x-mine", true), ("code", false), ("key", false), ("name", false),
            ("statusCode", false), ("keys", false), ("accessKey", true), ("private_key", true), ("passphrase", true), ("pass", true),
            ("dbPass", true), ("appKey", true), ("authorizationHeader", true), ("compass", false), ("Compass", false),
            ("passengers", false),
            ("keyboard", false), ("primary-key", false), ("isAuthorized", false), ("unauthorized", false), ("authorized_by", false),
            ("monkey", false), ("turkey", false), ("passage", false),
        ])
    func membersOfJSONAreSecretByTheirNames(_ name: String, _ isSecret: Bool) throws {
        let sensitivity = Sensitivity(fields: [try #require(HTTPField.Name("X-Mine"))], queryNames: ["mine"])
        #expect(sensitivity.isSensitive(memberName: name) == isSecret)
    }
}

extension SensitivityTests {
    /// URLs and queries with the secrets `S1` to `S4`.
    private static let textsWithSecrets = [
        "https://joe:S1\"S2@h.example/", "https://joe:S1<S2@h/x?a=b", "https://joe:S1>S2@h", "https://joe:S1 S2@h/", "joe:S1@h.example",
        "joe:S1@h.example/x@y", "https:/joe:S1@h", "https:\\\\joe:S1@h", "https:\\joe:S1@h", "\\\\joe:S1@h", "https://joe:1234567/S1@h",
        "https://joe:99999/S1@h", "https://joe:S1//S2@h", "https://joe:S1/S2?S3#S4@h", "//joe:S1'S2@h", "https://joe:S1@S2\"S3@h",
        "///joe:S1@h", "https://S1@h", "<https://joe:S1 S2@h>; rel=next", "x\n//joe:S1\"@h\ny",
        "/?next=https%3A%2F%2Fjoe%3AS1%40x", "/?next=%2F%3Ftoken%3DS1", "/?next=%2F%3Ftoken%3DS1%26p%3D2&q=1", "/?n=%252F%253Ftoken%253DS1",
        "/?n=https%3A%2F%2Fx%2F%3Fa%3D1%26password%3DS1%FF", "/?%74oken=S1", "/?tok%65n%FF=S1", "/?state=token%3DS1",
        "/#next=%2F%3Ftoken%3DS1",
        "/proxy/https%3A%2F%2Fjoe%3AS1%40x/", "https%3A%2F%2Fjoe%3AS1%40x", "/?n=//joe:%53%31@h", "/?a=1;n=%3Fjwt%3DS1",
    ]

    @Test(arguments: textsWithSecrets)
    func noFormOfAURLHidesItsSecrets(_ text: String) {
        let shown = standard.redactedURL(text)
        let plain = PercentEncoding.decodedLeniently(shown)
        for secret in ["S1", "S2", "S3", "S4"] { #expect(!plain.contains(secret), "\(shown)") }
    }

    @Test(arguments: textsWithSecrets)
    func everyReplacedSecretIsReturned(_ text: String) {
        let values = standard.secretValues(inURL: text)
        let plain = PercentEncoding.decodedLeniently(PercentEncoding.decodedLeniently(text))
        for secret in ["S1", "S2", "S3", "S4"] where plain.contains(secret) {
            #expect(values.contains { $0.contains(secret) }, "\(values)")
        }
    }

    @Test(arguments: [
        ("https://joe:S1@h/users/@me", ["joe:S1", "S1"]), ("<https://joe:S1@h>; title=\"x@y\"", ["S1"]), ("/?state=token%3DS1", ["S1"]),
        ("https://a:S1@p/https://b:S2@h/?token=S3;jwt=S4", ["a:S1", "S1", "b:S2", "S2", "S3", "S4"]),
        ("a=1&token=S%251+x", ["S%1+x", "S%1 x"]),
        ("/a;token=S1/b", ["S1/b"]), ("https://joe:S\u{FF20}1@h", ["S\u{FF20}1"]),
    ])
    func secretValuesAreDecoded(_ text: String, _ expected: [String]) {
        let values = standard.secretValues(inURL: text)
        for value in expected { #expect(values.contains(value), "\(values)") }
    }

    @Test(arguments: [
        ("/users/@me", "/users/@me"), ("https://h/users/@me?x=a@b", "https://h/users/@me?x=a@b"),
        ("https://h:8080/@x", "https://h:8080/@x"),
        ("https://[::1]:80/@x", "https://[::1]:80/@x"), ("/a%20b?q=a%26b%20c&r=%C3%A4", "/a%20b?q=a%26b%20c&r=%C3%A4"),
        ("/x?next=https%3A%2F%2Fh%2Fp%3Fq%3D1", "/x?next=https%3A%2F%2Fh%2Fp%3Fq%3D1"), ("joe@h", "joe@h"), ("/?q=%", "/?q=%"),
        ("/?mail=a%40b.example", "/?mail=a%40b.example"), ("/a%40b", "/a%40b"),
        ("<https://h/a>; title=\"x@y\"", "<https://h/a>; title=\"x@y\""),
        ("/?next=https%3A%2F%2Fu%3Ap%40x%2F&q=1", "/?next=https://REDACTED:REDACTED@x/&q=1"),
        ("/?next=%2F%3Ftoken%3DS%26p%3D%20", "/?next=/?token=REDACTED%26p=%20"),
    ])
    func plainValuesAreShown(_ text: String, _ expected: String) {
        #expect(standard.redactedURL(text) == expected)
    }

    @Test func aLongValueIsCutInDescriptions() throws {
        let long = String(repeating: "a", count: 100_000)
        let fields: HTTPFields = [.accept: long, .contentType: String(repeating: "b", count: 8192)]
        let shown = standard.shown(fields)
        #expect(shown[0].value == String(repeating: "a", count: 8192) + "… (100000 bytes)")
        #expect(shown[1].value == fields[.contentType])
        #expect(FieldLimits.valueBytes == 8192, "as much is shown of a field as is read of it")
    }
}
