#if Auth
public import ErrandCore
internal import ErrandFormats
internal import Synchronization

/// The hosts that demand `https`: hosts that the app names, and hosts that have sent the field `Strict-Transport-Security`
/// ([RFC 6797](https://www.rfc-editor.org/rfc/rfc6797)).
///
/// ```swift
/// let hosts = HSTSList(store: FileHSTSStore(atPath: path))
/// let stack = HTTPStack.default.hsts(hosts).server("https://api.example")
/// ```
///
/// Several stacks may share the object. ``HSTSMiddleware`` adds a host if a response of the host over `https` has a valid
/// `Strict-Transport-Security` field. These hosts are the noted hosts. The middleware also looks up the host of each request.
///
/// **Bounds:** at most 1,000 noted hosts (``limit``). If there are more hosts, the host that was noted least recently is dropped. The limit
/// does not include the `preloaded` hosts, and no server can remove these hosts. The library contains no list of hosts.
///
/// **Store:** the first request by `http` loads the hosts, and waits for the store. New entries are written in the background, by one task.
/// Entries that arrive during a write are written together afterwards. If a host repeats its policy, the new expiry is written after a
/// tenth of the lifetime, but at the latest after a day. A failed write is tried again with the next new entry, and by ``save()``. If the
/// store can't be read, requests use the hosts in memory, and loading is tried again after a minute. The next call reports the failure of
/// the store as an event (``/ErrandCore/ExchangeEvent/Kind/hstsDecision``), and does not fail.
///
/// The description shows only the number of hosts, because the names reveal which servers a person has used.
public final class HSTSList: Sendable {
    /// The largest number of noted hosts: 1,000.
    public static let limit = 1_000
    /// The time after a failed load before the store is read again.
    static let reloadPause = Duration.seconds(60)

    private enum Work: Hashable, Sendable {
        case load
    }

    private let table: Mutex<HSTSTable>
    private let preloaded: [String: HSTSHost]
    private let store: (any HSTSStore)?
    private let writer = BackgroundWriter()
    private let flights = SingleFlight<Work, Void>()
    private let now: @Sendable () -> Date

    /// Creates a list of hosts.
    ///
    /// - Parameters:
    ///   - preloaded: the hosts that demand `https` from the beginning. Default: none.
    ///   - store: the store that keeps the noted hosts between runs. `nil`, the default: the hosts are kept in memory only.
    ///   - now: a closure that returns the current date.
    public init(preloaded: [HSTSHost] = [], store: (any HSTSStore)? = nil, now: @escaping @Sendable () -> Date = { Date() }) {
        self.preloaded = Dictionary(preloaded.map { ($0.name, $0) }) { _, last in last }
        (self.store, self.now) = (store, now)
        table = Mutex(HSTSTable(isStored: store != nil))
    }

    private var time: HTTPDate { HTTPDate(now()) }

    // MARK: - Looking up

    /// Returns whether requests to a host must use `https` ([RFC 6797, section
    /// 8.2](https://www.rfc-editor.org/rfc/rfc6797#section-8.2)).
    ///
    /// Requests must use `https` if the host is known. Requests must also use `https` if a parent domain of the host is known, and this
    /// parent domain includes its subdomains.
    ///
    /// - Parameter origin: an origin of the host. Its scheme and port are ignored.
    /// - Returns: false for an IP address, and for a host whose entry has expired.
    public func demandsHTTPS(_ origin: Origin) -> Bool {
        if origin.isAddress { return false }
        let (name, time) = (HSTSHost.name(of: origin), time)
        return table.withLock { table in
            var (rest, isWhole) = (name[...], true)
            while true {
                let key = String(rest)
                for host in [table[key], preloaded[key]] {
                    if let host, host.isKnown(at: time), isWhole || host.includesSubdomains { return true }
                }
                guard let dot = rest.utf8.firstIndex(of: UInt8(ascii: ".")) else { return false }
                (rest, isWhole) = (rest[rest.utf8.index(after: dot)...], false)
            }
        }
    }

    /// The hosts that now demand `https`, noted and preloaded, by name.
    public var hosts: [HSTSHost] {
        let time = time
        let noted = table.withLock { table in table.hosts.filter { $0.isKnown(at: time) } }
        let known = Set(noted.map { $0.name })
        let others = preloaded.values.filter { $0.isKnown(at: time) && !known.contains($0.name) }
        return (noted + others).sorted { $0.name < $1.name }
    }

    // MARK: - Noting

    /// Adds the host of a response to the list if the response has the field `Strict-Transport-Security`.
    ///
    /// If the response has several such fields, the first field applies. `max-age=0` removes the host. The field is ignored in these cases
    /// ([RFC 6797, section 8.1](https://www.rfc-editor.org/rfc/rfc6797#section-8.1)):
    /// - The field is invalid.
    /// - The response came by `http`, or its certificate is not trusted (``/ErrandCore/ResponseMetadata/serverIsUnverified``).
    /// - The host is an IP address.
    /// - The response comes from a cache of the app.
    func note(_ response: Response) {
        guard let value = response.head.headerFields.single(.strictTransportSecurity), let origin = response.request.origin,
            origin.scheme.isExactly("https"), !origin.isAddress, !response.metadata.serverIsUnverified,
            response.metadata.cacheStatus?.isHit != true, let policy = StrictTransportSecurity(value)
        else { return }
        note(policy, of: HSTSHost.name(of: origin))
    }

    private func note(_ policy: StrictTransportSecurity, of name: String) {
        let time = time
        let host = HSTSHost(
            checked: name, includesSubdomains: policy.includesSubdomains,
            expires: time.advanced(by: policy.maxAge), noted: time)
        if table.withLock({ $0.note(host) }) { writeInBackground() }
    }

    // MARK: - The store

    /// Whether a lookup must wait for the store.
    var mustLoad: Bool {
        guard store != nil else { return false }
        let time = time
        return table.withLock { !$0.isLoaded && $0.mayLoad(at: time) }
    }

    /// Reads the hosts of the store, if they were not read yet. The first request by `http` calls this function.
    ///
    /// - Throws: the error of the store; `CancellationError` if the caller is cancelled.
    public func load() async throws {
        guard let store, table.withLock({ !$0.isLoaded }) else { return }
        try await flights.run(.load, mustFinish: true) { [self] in
            guard table.withLock({ !$0.isLoaded }) else { return }
            do {
                let hosts = try await store.load()
                table.withLock { $0.adopt(hosts) }
            } catch {
                let next = time.advanced(by: Self.reloadPause)
                table.withLock { $0.fail(error, nextLoad: next) }
                throw error
            }
        }
    }

    /// Writes all changes to the store, and waits until the changes are durable. If the task is cancelled, the changes are still written.
    ///
    /// Call this function before a program ends. Without a store, the function does nothing.
    ///
    /// - Throws: the error of the store. The changes are kept, and the next write tries again.
    public func save() async throws {
        guard table.withLock(\.isPending) else { return }
        try await runShielded { [self] in try await writer.finish { [self] in try await write() } }
    }

    /// Begins to write, unless the store already has all changes.
    private func writeInBackground() {
        if table.withLock(\.isPending) { writer.begin { [self] in try await write() } }
    }

    /// Writes until the store has all changes. The next call of the stack reports a failure.
    private func write() async throws {
        guard let store else { return }
        do {
            while table.withLock(\.isPending) {
                let batch = table.withLock(\.batch)
                // A removal of all hosts includes the hosts that only the store has.
                let hosts = batch.notes.isEmpty ? try await store.load() : try await store.apply(batch.notes)
                table.withLock { $0.finish(batch, hosts) }
            }
        } catch {
            table.withLock { $0.fail(error) }
            throw error
        }
    }

    /// Removes all noted hosts. The preloaded hosts stay. The hosts of the store are removed in the background: ``save()`` waits for this
    /// write.
    public func removeAll() {
        table.withLock { [time] in $0.removeAll(at: time) }
        writeInBackground()
    }

    /// The failure of the store that was not reported yet; `nil` if there is no such failure. Each failure is returned once.
    func takeFailure() -> (any Error)? { table.withLock { $0.takeFailure() } }
}

extension HSTSList: HTTPSDemands {}

extension HSTSList: CustomStringConvertible, HidesStorage {
    /// The number of noted hosts: `HSTS hosts, noted: 3, preloaded: 1`.
    public var description: String { "HSTS hosts, noted: \(table.withLock(\.count)), preloaded: \(preloaded.count)" }
}
#endif
