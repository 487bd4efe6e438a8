internal import ErrandCore
internal import Foundation

#if canImport(FoundationNetworking)
internal import FoundationNetworking
#endif

/// The instants of one transaction, as the session reports them. An instant is `nil` if the step was not needed.
struct TransactionDates: Sendable {
    var dnsStart: Date?
    var dnsEnd: Date?
    var connectStart: Date?
    var connectEnd: Date?
    var tlsStart: Date?
    var tlsEnd: Date?
    var requestStart: Date?
    var requestEnd: Date?
    var responseStart: Date?
    /// The end of a TCP connection with TLS is the end of its TLS handshake (`URLSessionTaskTransactionMetrics.connectEndDate`).
    var connectionIsReused = false
}

extension ExchangeEvent.Timings {
    /// Converts the instants of the last transaction. The earlier transactions are requests that the session has repeated.
    init(_ metrics: URLSessionTaskMetrics) {
        guard let last = metrics.transactionMetrics.last else {
            self.init()
            return
        }
        self.init(
            TransactionDates(
                dnsStart: last.domainLookupStartDate, dnsEnd: last.domainLookupEndDate, connectStart: last.connectStartDate,
                connectEnd: last.connectEndDate, tlsStart: last.secureConnectionStartDate, tlsEnd: last.secureConnectionEndDate,
                requestStart: last.requestStartDate, requestEnd: last.requestEndDate, responseStart: last.responseStartDate,
                connectionIsReused: last.isReusedConnection),
            now: Date(), .now)
    }

    /// Converts the instants of a transaction to instants of the continuous clock.
    ///
    /// - Parameters:
    ///   - now: the date of `instant`. A change of the system's clock during the exchange shifts all instants.
    ///   - instant: the present instant.
    init(_ dates: TransactionDates, now: Date, _ instant: ContinuousClock.Instant) {
        self.init()
        func converted(_ date: Date?) -> ContinuousClock.Instant? { date.map { instant - .seconds(now.timeIntervalSince($0)) } }
        if !dates.connectionIsReused {
            (dnsStart, dnsEnd) = (converted(dates.dnsStart), converted(dates.dnsEnd))
            (connectStart, tlsStart) = (converted(dates.connectStart), converted(dates.tlsStart))
            tlsEnd = converted(dates.tlsEnd)
            // The session's connection includes TLS.
            connectEnd = tlsStart ?? converted(dates.connectEnd)
        }
        connected = tlsEnd ?? connectEnd
        (requestHeadSent, requestSent) = (converted(dates.requestStart), converted(dates.requestEnd))
        responseHead = converted(dates.responseStart)
    }
}
