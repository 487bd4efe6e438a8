// The names that samples of doc comments use and don't declare. See scripts/check-samples. A declaration by `omitted()` has no value: a sample that uses it is type-checked, and does not run.

func omitted<Value>() -> Value { preconditionFailure("a sample with context does not run") }
func omitted() async throws {}

// MARK: Stacks and calls
var transport: HTTPStack { HTTPStack(stub) }
var stack: HTTPStack { HTTPStack(stub) }
var client: APIClient { APIClient(stack) }
var api: APIClient { APIClient(stack) }
var next: HTTPStack { omitted() }
var stub: StubTransport { StubTransport() }
var request: Request {
    get { omitted() }
    set {}
}
var response: Response {
    get { omitted() }
    set {}
}
var clock: ManualClock { ManualClock() }
var origin: Origin { omitted() }
var breaker: CircuitBreaker { CircuitBreaker() }
var sink: RecordingEventSink { RecordingEventSink() }
var server: MockServer { omitted() }
var logger: Logger { Logger(label: "app") }
var configuration: NIOTransport.Configuration {
    get { omitted() }
    set {}
}

// MARK: Values
var id: Int { 7 }
var name: String { "name" }
var text: String { "text" }
var path: String { "/path" }
var key: String { "key" }
var password: String { "password" }
var tenant: String { "blue" }
var agent: String { "Shop/2.1" }
var data: Data { Data() }
var url: URL { omitted() }
var folder: URL { omitted() }
var file: URL { omitted() }
var json: JSONValue {
    get { omitted() }
    set {}
}
var bytes: Data { Data() }
var user: User { omitted() }
var cart: Order { Order() }
var order: Order { Order() }
var apiKey: String { "a-long-key" }
var tokens: TokenSource { omitted() }

struct User: Codable, Sendable, Equatable {
    var id = 7
    var name = "Ada"
    var joined: Date?
    init(id: Int = 7, name: String = "Ada", joined: Date? = nil) { (self.id, self.name, self.joined) = (id, name, joined) }
    init(_ transferred: UserDTO) { id = transferred.id }
}
struct UserDTO: Codable, Sendable { var id: Int }
struct Order: Codable, Sendable { var id = 1 }
struct Photo: Codable, Sendable { var id = 1 }
struct SearchResults: Codable, Sendable { var items: [User] }
struct Health: Codable, Sendable { var isUp: Bool }
struct Story: Codable, Sendable { var title: String }
struct LogEntry: Codable, Sendable { var message: String }
struct Repository: Codable, Sendable { var name: String }
struct Chunk: Codable, Sendable {
    struct Choice: Codable, Sendable { var delta: Delta }
    struct Delta: Codable, Sendable { var content: String? }
    var choices: [Choice]
}
struct Question: Codable, Sendable { var text = "" }
var question: Question { Question() }
struct Token: Codable, Sendable { var access: String }
struct Failing: Error {}
enum Repositories {
    static func list(of owner: String, page: Int = 1) -> Endpoint<[Repository]> { .get("/orgs") }
}
struct APIProblem: LocalizedError, Decodable { var reason: String }

// MARK: Code of an app
func show(_ value: some Any) {}
func showBanner(_ text: String) {}
func showSignIn() {}
func alert(_ text: String) {}

// MARK: Names of one file

// FILE: Errand/TransportService.swift
import ServiceLifecycle
var server: any Service { omitted() }

// FILE: ErrandAPI/Coding/ResponseDecoding.swift
struct Audit: Codable, Sendable {}
var code: String { "code" }

// FILE: ErrandAPI/Pages/NextPage.swift
struct OrderList: Codable, Sendable { var nextCursor: String? }
struct UserList: Codable, Sendable { var users: [User] }
enum Orders { static func list() -> Endpoint<OrderList> { .get("/orders") } }
enum Users { static func list() -> Endpoint<UserList> { .get("/users") } }

// FILE: ErrandAPI/Pages/Pages.swift
var list: Endpoint<[Repository]> { .get("/repos") }
var position: PagePosition! = .first
var rows: [Repository] = []

// FILE: ErrandAPI/Polling/APIClient+Polling.swift
struct Job: Codable, Sendable {
    enum State: String, Codable { case running, done }
    var state: State
}
struct Report: Codable, Sendable {}
var query: Order { Order() }

// FILE: ErrandAuth/Authenticate/AuthenticationOptions.swift
@Sendable func askForPassword(_ realm: String?) async -> String? { nil }

// FILE: ErrandAuth/Cookies/Jar/CookieJar+Store.swift
let jar: CookieJar = omitted()

// FILE: ErrandAuth/OAuth/OAuthClient.swift
var server: OAuthServer { omitted() }
func browse(_ url: String) async throws -> String { omitted() }

// FILE: ErrandAuth/Schemes/AuthenticationScheme.swift
actor TicketOffice {
    struct Ticket: Sendable { var text: String, owner: String }
    func current() throws -> Ticket { omitted() }
}
var tickets: TicketOffice { omitted() }

// FILE: ErrandAuth/Sign/AWSSignatureV4.swift
var id: String { "id" }
var secret: String { "secret" }

// FILE: ErrandAuth/Sign/SignMiddleware.swift
import Crypto
var credentials: AWSCredentials { omitted() }

// FILE: ErrandAuth/Tokens/TokenSource.swift
struct Refresh: Codable, Sendable { var token: String? }
struct Tokens: Codable, Sendable { var access: String, refresh: String, expiresIn: TimeInterval }
let auth: APIClient = omitted()
var first: AccessToken { omitted() }

// FILE: ErrandAuth/Tokens/TokenSource+Account.swift
var cache: any AccountBoundStore { omitted() }
var cookies: any AccountBoundStore { omitted() }

// FILE: ErrandConformance/Events/EventGrammar.swift
var recorder: RecordingEventSink { omitted() }

// FILE: ErrandConformance/Middleware/MiddlewareBehavior.swift
extension RequestOptions { var tenant: OptionOverride<String> { get { omitted() } set {} } }
extension HTTPSender { func tenant(_ name: String) -> HTTPStack { omitted() } }

// FILE: ErrandConformance/Transport/TransportBehavior.swift
final class MyTransport: HTTPTransport {
    init() {}
    init(over stub: StubTransport) {}
    var capabilities: TransportCapabilities { omitted() }
    func send(_ request: Request) async throws -> Response { omitted() }
    func shutdown() async throws {}
}

// FILE: ErrandCore/Bodies/Request/MultipartForm.swift
var jpeg: Data { Data() }

// FILE: ErrandCore/Bodies/Request/RequestBody+Stages.swift
struct Meter: Sendable {
    func reset() {}
    func add(_ count: Int, of total: Int64?) {}
}
var body: RequestBody { omitted() }
let progress = Meter()

// FILE: ErrandCore/Bodies/Request/RequestBody.swift
var chunks: AsyncStream<Data> { omitted() }

// FILE: ErrandCore/Bodies/Response/ResponseBody.swift
var file: FileHandle { omitted() }

// FILE: ErrandCore/Bodies/Stages/TransferProgress.swift
let client: APIClient = omitted()
let url: URL = omitted()
let archive: Endpoint<Void> = .get("/archive")
final class Bar { var value = 0.0 }
let bar = Bar()

// FILE: ErrandCore/Concurrency/SingleFlight.swift
@Sendable func fetchToken() async throws -> Token { omitted() }

// FILE: ErrandCore/Exchange/CallObserver.swift
struct Stopwatch: CallObserver {
    func mark() -> ContinuousClock.Instant { .now }
    func end(_ outcome: CallOutcome, at end: ContinuousClock.Instant) {}
}

// FILE: ErrandCore/Exchange/ExchangeEventLog.swift
var connection: ConnectionInfo { omitted() }

// FILE: ErrandCore/Failures/Delivery.swift
func order(again: Order) async throws {}

// FILE: ErrandCore/Failures/ServiceError.swift
func showTopUp(_ text: String) {}

// FILE: ErrandCore/Message/Identity/AccountBoundStore.swift
private struct Memory: Sendable { func removeAll(of identity: CredentialIdentity) {} }
private struct Folder: Sendable { func removeAll(named name: String) async throws {} }
private let memory = Memory()
private let files = Folder()
private func digest(_ octets: some Any, key: String) -> String { "" }
var drafts: any AccountBoundStore { omitted() }

// FILE: ErrandCore/Network/NetworkPath.swift
let monitor: any NetworkPathMonitor = omitted()

// FILE: ErrandCore/Network/NetworkPathMonitor.swift
let monitor: any NetworkPathMonitor = omitted()
func showBanner(_ text: String?) {}

// FILE: ErrandCore/Proxies/ProxyAddress.swift
let error: TransportError = omitted()

// FILE: ErrandCore/Proxies/ProxyAuthenticator.swift
@Sendable func digestField(for challenge: AuthenticationChallenge, _ method: HTTPRequest.Method, _ target: String) -> String { "" }

// FILE: ErrandCore/Proxies/ProxyPolicy.swift
let authenticator: ProxyAuthenticator = omitted()
let office: ProxySettings = omitted()

// FILE: ErrandCore/Resolving/HostResolver.swift
actor ServiceRegistry {
    struct Found: Sendable { var endpoints: [String] }
    func service(named name: String) -> Found? { nil }
}

// FILE: ErrandCore/Seam/RequestCondition.swift
struct Signature: HTTPMiddleware {
    init(_ key: String) {}
    func send(_ request: Request, to next: some HTTPSender) async throws -> Response { omitted() }
}
var isVerbose: Bool { true }

// FILE: ErrandCore/TLS/ServerTrust.swift
var knownCertificate: Data { Data() }

// FILE: ErrandCore/Transport/OpenConnection.swift
var transport: NIOTransport { omitted() }

// FILE: ErrandCore/URLs/PathTemplate.swift
struct Item: Codable, Sendable {}
struct ItemPage: Codable, Sendable { var nextPath: String; var next: URL }
var page: ItemPage { omitted() }

// FILE: ErrandCore/URLs/URLQuery.swift
var query: URLQuery = [:]
var components: URLComponents { omitted() }

// FILE: ErrandFormats/Bodies/EventStream/EventStreamParser.swift
var chunks: [Data] { [] }

// FILE: ErrandFormats/Bodies/JSON/JSONNumber.swift
var number: JSONNumber { 1 }

// FILE: ErrandFormats/Bodies/Multipart/MultipartReader.swift
struct File {
    func write(_ bytes: some Sequence<UInt8>) {}
    func close() {}
}
var boundary: MultipartBoundary { omitted() }
var file: File { File() }

// FILE: ErrandFormats/Fields/EntityTag.swift
var tag: EntityTag { omitted() }

// FILE: ErrandFormats/Fields/RateLimitFields.swift
var now: Int64 { 0 }

// FILE: ErrandHashing/OctetHash.swift
actor Source { func next() async throws -> Data? { nil } }
var source: Source { omitted() }

// FILE: ErrandMiddleware/Fallback/FallbackMiddleware.swift
struct Kept: Sendable { func response(to request: Request) async -> Response? { nil } }
let primary: HTTPStack = omitted()
let mirror: HTTPStack = omitted()
let kept = Kept()

// FILE: ErrandMiddleware/Transform/TransformMiddleware.swift
actor Audit { func note(_ status: HTTPResponse.Status) {} }
let audit: Audit = omitted()

// FILE: ErrandMiddleware/Validate/ResponseValidator.swift
actor Session {
    var authorization: String? { nil }
    func refresh() async throws {}
}
let session: Session = omitted()

// FILE: ErrandMiddleware/WaitForNetwork/NetworkGate.swift
var banner: String?

// FILE: ErrandNIO/HTTP1/ResponseParser.swift
var parser = ResponseParser(limits: ResponseLimits())
var received = UnsafeRawBufferPointer(start: nil, count: 0)

// FILE: ErrandNIO/Transport/EventLoopExecutor.swift
let transport: NIOTransport = omitted()
let stack: HTTPStack = omitted()
let request: Request = omitted()

// FILE: ErrandNIO/Transport/NIOTransport.swift
var transport: NIOTransport { omitted() }

// FILE: ErrandTesting/Torture/CancellationTorture.swift
let expected = Data()
let stub: StubTransport = omitted()
let stack: HTTPStack = omitted()
let request: Request = omitted()

// FILE: ErrandURLSessionTesting/StubURLProtocol.swift
#if canImport(FoundationNetworking)
import FoundationNetworking
#endif

// FILE: ErrandURLSession/Messages/URLRequest+Request.swift
#if canImport(FoundationNetworking)
import FoundationNetworking
#endif
var urlRequest: URLRequest { omitted() }

// FILE: ErrandCache/Stores/CacheStore+Responses.swift
let cache: MemoryCacheStore = omitted()
func show(_ body: some Any, isStale: Bool) {}

// FILE: ErrandCore/Platform/CRC32.swift
let head: Data = omitted()
let body: Data = omitted()

// FILE: ErrandSQLite/Store/CacheSealing.swift
import Crypto
let key: SymmetricKey = omitted()
let path: String = omitted()

// FILE: ErrandSQLite/Store/SQLiteCacheStore.swift
let caches: String = omitted()

// FILE: ErrandSQLite/Database/SQLiteDatabase.swift
let path: String = omitted()
let name: [UInt8] = omitted()

// FILE: ErrandTransfers/Download/Download.swift
let target: URL = omitted()
@Sendable func signedURL(of name: String) async throws -> String { omitted() }

// FILE: ErrandTransfers/Download/DownloadResumption.swift
let download: Download = omitted()
var file: DownloadedFile {
    get { omitted() }
    set {}
}
var saved: Data {
    get { omitted() }
    set {}
}

// FILE: ErrandTransfers/Upload/Upload.swift
@Sendable func token() async throws -> String { omitted() }

// FILE: ErrandTransfers/Upload/UploadResumption.swift
let upload: Upload = omitted()
var saved: Data {
    get { omitted() }
    set {}
}

// FILE: ErrandTransfers/Transfer/TransferResumption.swift
let download: Download = omitted()
var file: DownloadedFile {
    get { omitted() }
    set {}
}
var saved: Data {
    get { omitted() }
    set {}
}

// FILE: ErrandTransfers/Transfer/TransferState.swift
let download: Download = omitted()
let progressView: Bar = omitted()
let label: Label = omitted()
final class Bar { var fraction = 0.0 }
final class Label { var text = "" }

// FILE: ErrandStoreConformance/Cache/CacheStoreBehavior.swift
func MyCacheStore(_ folder: URL? = nil, bytes: Int, entries: Int, entryBytes: Int) -> any CacheStore { omitted() }

// FILE: ErrandStoreConformance/Cookies/CookieStoreBehavior.swift
func MyCookieStore(_ file: URL? = nil) -> any CookieStore { omitted() }

// FILE: ErrandStoreConformance/HSTS/HSTSStoreBehavior.swift
func MyHSTSStore(_ file: URL? = nil) -> any HSTSStore { omitted() }

// FILE: ErrandStoreConformance/RateLimit/RateLimitStoreBehavior.swift
func MyRateLimitStore(prefix: String = "") -> any RateLimitStore { omitted() }

// FILE: ErrandStoreConformance/Tokens/TokenStoreBehavior.swift
func MyTokenStore(_ file: URL? = nil) -> any TokenStore { omitted() }
