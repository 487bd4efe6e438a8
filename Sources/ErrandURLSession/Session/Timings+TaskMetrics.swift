internal import ErrandCore
internal import Foundation

#if canImport(FoundationNetworking)
internal import FoundationNetworking
#endif

/// The dates that the session reports for the steps of one exchange. A date is `nil` if the step was not needed.
struct StepDates: Sendable {
    var dnsStart: Date?
    var dnsEnd: Date?
    var connectStart: Date?
    var connectEnd: Date?
    var tlsStart: Date?
    var tlsEnd: Date?
    var requestStart: Date?
    var requestEnd: Date?
    var responseStart: Date?
    var connectionIsReused = false
}

extension ExchangeEvent.Timings {
    /// Converts the dates of the last exchange. The session may have sent the request more than once.
    init(_ metrics: URLSessionTaskMetrics) {
        guard let last = metrics.transactionMetrics.last else {
            self.init()
            return
        }
        self.init(
            StepDates(
                dnsStart: last.domainLookupStartDate, dnsEnd: last.domainLookupEndDate, connectStart: last.connectStartDate,
                connectEnd: last.connectEndDate, tlsStart: last.secureConnectionStartDate, tlsEnd: last.secureConnectionEndDate,
                requestStart: last.requestStartDate, requestEnd: last.requestEndDate, responseStart: last.responseStartDate,
                connectionIsReused: last.isReusedConnection),
            now: Date(), .now)
    }

    /// Converts dates to instants of the continuous clock.
    ///
    /// - Parameters:
    ///   - now: the date of `instant`. A change of the system's clock during the exchange shifts all instants.
    ///   - instant: the present instant.
    init(_ dates: StepDates, now: Date, _ instant: ContinuousClock.Instant) {
        self.init()
        func converted(_ date: Date?) -> ContinuousClock.Instant? { date.map { instant - .seconds(now.timeIntervalSince($0)) } }
        if !dates.connectionIsReused {
            (dnsStart, dnsEnd) = (converted(dates.dnsStart), converted(dates.dnsEnd))
            (connectStart, tlsStart) = (converted(dates.connectStart), converted(dates.tlsStart))
            tlsEnd = converted(dates.tlsEnd)
            // The session's dates of the connection include TLS.
            connectEnd = tlsStart ?? converted(dates.connectEnd)
        }
        connected = tlsEnd ?? connectEnd
        (requestHeadSent, requestSent) = (converted(dates.requestStart), converted(dates.requestEnd))
        responseHead = converted(dates.responseStart)
    }
}
