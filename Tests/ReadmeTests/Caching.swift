import Errand
import ErrandSQLite
import ErrandStoreConformance
import Foundation
import Testing

#if SQLite
import Crypto
#endif

// The samples of the article "Caching", to the letter: `ReadmeTests` holds each block of it against this file.

nonisolated struct Forecast: Codable, Sendable, Equatable {
    var city: String
    var high: Int
}

nonisolated struct Weather: Sendable {
    let store: any CacheStore
    let stack: HTTPStack
    let api: APIClient

    init(over network: HTTPStack = .default, store: some CacheStore = .memory, policy: CachePolicy = .standard) {
        self.store = store
        stack = network.cache(in: store, policy: policy).retry().timeout(.seconds(30)).server("https://weather.example")
        api = APIClient(stack)
    }

    func forecast(for city: String) async throws -> Forecast { try await api.get("/forecasts/\(city, "city")") }
}

#if SQLite
func makeDurableWeather(in caches: URL) -> Weather {
    Weather(store: SQLiteCacheStore(inFolder: caches.appending(path: "responses").path))
}

func makeSealedWeather(over network: HTTPStack = .default, in caches: URL, key: SymmetricKey) -> Weather {
    let sealing = CacheSealing(
        seal: { try ChaChaPoly.seal($0, using: key).combined },
        open: { try ChaChaPoly.open(ChaChaPoly.SealedBox(combined: $0), using: key) })
    return Weather(over: network, store: SQLiteCacheStore(inFolder: caches.appending(path: "responses").path, sealing: sealing))
}
#endif

func describe(_ response: Response) -> String {
    guard let status = response.metadata.cacheStatus else { return "no cache" }
    if status.isStale { return "may be out of date (\(status))" }
    return "\(status)"
}

func forecastWithSource(for city: String, from weather: Weather) async throws -> (forecast: Forecast, source: String) {
    let response = try await weather.api.response(.get("/forecasts/\(city, "city")", as: Forecast.self))
    return (response.value, response.metadata.cacheStatus?.description ?? "no cache")
}

func explain(_ response: Response) -> String {
    guard let reason = response.metadata.cacheStatus?.refusal else { return "stored, or from the store" }
    return "not stored (\(reason.rawValue)): \(reason)"
}

func counted(_ stack: HTTPStack, by count: @escaping @Sendable (_ result: String) -> Void) -> HTTPStack {
    stack.transformResponse { response in
        guard let status = response.metadata.cacheStatus else { return }
        let result =
            if status.isHit {
                "hit"
            } else if status.isRevalidated {
                "revalidated"
            } else if status.isUnavailable {
                "unavailable"
            } else {
                status.isMiss ? "miss" : "other"
            }
        count(result)
    }
}

func stored(_ stack: HTTPStack, for account: String) -> HTTPStack {
    stack.transformRequest { $0.options.credentialIdentity = CredentialIdentity(scheme: "weather", account: account) }
}

func signOut(of account: String, from weather: Weather) async throws {
    try await weather.store.forget(CredentialIdentity(scheme: "weather", account: account))
}

func refreshed(_ city: String, from weather: Weather) async throws -> Forecast {
    let endpoint = Endpoint<Forecast>.get("/forecasts/\(city, "city")")
    return try await weather.api.value(endpoint.with(\.cache, .use(.reload)))
}

func lastKnown(_ city: String, from weather: Weather) async throws -> Forecast {
    let endpoint = Endpoint<Forecast>.get("/forecasts/\(city, "city")")
    return try await weather.api.value(endpoint.with(\.cache, .use(.storedOnly)))
}

func storedForecasts(for cities: [String], from weather: Weather) async throws -> [Forecast] {
    var forecasts: [Forecast] = []
    for city in cities {
        do {
            forecasts.append(try await lastKnown(city, from: weather))
        } catch let error as StatusError where error.failureNumber == .notStored {
            continue  // the forecast is not stored on this device
        }
    }
    return forecasts
}

func makeOfflineWeather(over network: HTTPStack = .default, store: some CacheStore) -> Weather {
    Weather(over: network, store: store, policy: CachePolicy(staleIfUnreachable: .seconds(7 * 24 * 3600)))
}

func makePatientWeather(over network: HTTPStack = .default, store: some CacheStore) -> Weather {
    let policy = CachePolicy.standard.deciding { received in
        received.isStated || received.response.status != .ok ? .byPolicy : .fresh(for: .seconds(300))
    }
    return Weather(over: network, store: store, policy: policy)
}

func feedPolicy() -> CachePolicy {
    var policy = CachePolicy.standard
    policy.usesNoVarySearch = true
    return policy
}

func isStored(_ city: String, in weather: Weather) async throws -> Bool {
    try await weather.store.contains(Request(.get, url: "https://weather.example/forecasts/\(city)"))
}

func prefetch(_ cities: [String], with weather: Weather) async throws {
    for city in cities {
        let response = try await weather.stack.send(Request(.get, "/forecasts/\(city, "city")"))
        for try await _ in response.body {}
    }
}

@Suite(.timeLimit(.minutes(1))) struct ResponseStoreTests {
    @Test(arguments: CacheStoreBehavior.all)
    func conforms(to behavior: CacheStoreBehavior) async throws {
        try await behavior.check { limits in
            MemoryCacheStore(bytes: limits.bytes, entries: limits.entries, entryBytes: limits.entryBytes)
        }
    }
}
