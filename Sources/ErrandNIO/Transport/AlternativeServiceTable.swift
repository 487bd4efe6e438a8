#if NIO
internal import ErrandCore
internal import ErrandFormats
internal import Synchronization

/// What origins have said of their alternative services, until it is too old ([RFC 7838](https://www.rfc-editor.org/rfc/rfc7838)).
///
/// The fields are read when somebody asks for them. Nothing uses them for routing: HTTP/3 is not there.
final class AlternativeServiceTable: Sendable {
    private struct Entry: Sendable {
        let value: String
        /// How old the response was when it was received.
        let age: Duration
        let received: Duration
    }

    /// The most origins; the one that was heard or asked for least recently is forgotten.
    static let originLimit = 1024
    /// The longest value of the field that is kept: 4 KiB. A longer one counts as `clear`.
    static let valueBytes = 4096

    private let entries = Mutex(BoundedTable<Origin, Entry>(limit: originLimit))

    /// A response with the field `Alt-Svc` was received. What the origin has said before does not hold any more
    /// ([RFC 7838, section 3](https://www.rfc-editor.org/rfc/rfc7838#section-3)).
    ///
    /// It means nothing without TLS, where anybody may have written it, and in a response that is for another server (421;
    /// [RFC 7838, section 6](https://www.rfc-editor.org/rfc/rfc7838#section-6)).
    ///
    /// - Parameter now: on the clock of the caller.
    func receive(_ response: HTTPResponse, from origin: Origin, at now: Duration) {
        guard origin.scheme.isExactly("https"), response.status.code != 421 else { return }
        let fields = response.headerFields
        guard let value = fields[.altSvc] else { return }
        let age = fields.single(.age).flatMap { UInt32($0) } ?? 0
        let entry = Entry(value: value, age: .seconds(age), received: now)
        entries.withLock { entries in
            if value.utf8.count > Self.valueBytes || value.isExactly("clear") {
                entries.removeValue(forKey: origin)
            } else {
                entries.update(origin, default: entry) { $0 = entry }
            }
        }
    }

    /// Returns the services that may still be used, each with the rest of its time.
    func services(for origin: Origin, at now: Duration) -> [AlternativeService] {
        guard let entry = entries.withLock({ $0.updateIfPresent(origin) { $0 } }) else { return [] }
        let age = max(.zero, now - entry.received) + entry.age
        return AlternativeService.parse(entry.value).compactMap { service in
            var service = service
            service.maxAge = .seconds((service.maxAge - age).components.seconds)
            return service.maxAge > .zero ? service : nil
        }
    }
}

extension HTTPField.Name {
    fileprivate static let altSvc = known("Alt-Svc")
    fileprivate static let age = known("Age")
}
#endif
