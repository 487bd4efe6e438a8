#if SWIFT_NIO
internal import ErrandCore
internal import ErrandFormats
internal import Synchronization

/// The alternative services that origins have announced, until the announcements expire
/// ([RFC 7838](https://www.rfc-editor.org/rfc/rfc7838)).
///
/// The fields are parsed when a caller asks for the services. The transport does not use these services for routing, because the
/// transport does not support HTTP/3.
final class AlternativeServiceTable: Sendable {
    private struct Entry: Sendable {
        let value: String
        /// The age of the response when it was received.
        let age: Duration
        let received: Duration
    }

    /// The largest number of origins. If there are more origins, the origin with the least recent announcement or request is removed.
    static let originLimit = 1024
    /// The maximum length of a field value that is kept: 4 KiB. A longer value is treated as `clear`.
    static let valueBytes = 4096

    private let entries = Mutex(BoundedTable<Origin, Entry>(limit: originLimit))

    /// Records the field `Alt-Svc` of a response. The field replaces all earlier announcements of the origin
    /// ([RFC 7838, section 3](https://www.rfc-editor.org/rfc/rfc7838#section-3)).
    ///
    /// The field is ignored if the connection has no TLS, because anyone may have written the field. The field is also ignored in the
    /// response to a misdirected request (421; [RFC 7838, section 6](https://www.rfc-editor.org/rfc/rfc7838#section-6)).
    ///
    /// - Parameter now: the time, on the clock of the caller.
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

    /// Returns the services that may still be used, each with its remaining lifetime.
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
