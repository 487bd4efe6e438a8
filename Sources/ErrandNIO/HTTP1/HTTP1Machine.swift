#if SWIFT_NIO
internal import ErrandCore

/// The decisions of one HTTP/1.1 connection, as a value without channels, tasks and timers.
///
/// For each event, a method returns the handler's next step. The connection's handler calls the method on its event loop, and performs
/// the step. An exchange has two halves, which end independently: the upload and the response ([RFC 9112, section
/// 9.3](https://www.rfc-editor.org/rfc/rfc9112#section-9.3)).
struct HTTP1Machine: Sendable {
    enum Upload: Sendable, Equatable {
        /// The head was not written.
        case waiting
        case awaitingContinue
        case sending
        case sent
        /// The server has responded, or the exchange has ended, before the request was complete. The rest of the request is never sent.
        case stopped
    }

    enum Download: Sendable, Equatable {
        /// No byte of the response was received.
        case nothing
        /// A byte of the response, or an interim response, was received.
        case head
        case body
        /// The whole response was received, and the rest of the request is still sent.
        case ended
    }

    enum State: Sendable, Equatable {
        /// No exchange uses the connection.
        case idle
        case busy(Upload, Download)
        /// The protocol was changed: both directions carry bytes of another protocol, and each direction ends independently.
        case upgraded(inputEnded: Bool, outputEnded: Bool)
        case closed
    }

    private(set) var state = State.idle
    /// The number of exchanges that have begun.
    private(set) var exchangesStarted = 0
    /// Whether no further exchange may begin, because the end of a message is unknown, or because one side asked to close the
    /// connection.
    private(set) var isDraining = false

    // MARK: The request

    /// Begins an exchange. Returns false if the connection can't take an exchange.
    mutating func startAttempt() -> Bool {
        guard case .idle = state, !isDraining else { return false }
        exchangesStarted += 1
        state = .busy(.waiting, .nothing)
        return true
    }

    var canStartAttempt: Bool { state == .idle && !isDraining }

    /// The attempt in progress; `nil` if no attempt is in progress.
    var attempt: AttemptID? {
        switch state {
        case .busy, .upgraded: AttemptID(exchangesStarted)
        case .idle, .closed: nil
        }
    }

    /// Returns whether the handler acts on a callback. If the attempt of a callback is over, the callback is stale.
    func takes(_ callback: AttemptCallback, of attempt: AttemptID) -> Bool {
        attempt == self.attempt && (!callback.isOfUpload || isUploading)
    }

    /// Records that the head is handed to the channel.
    ///
    /// - Parameter closes: whether the request asks the server to close the connection.
    mutating func writeHead(_ body: OutgoingBody.Kind, closes: Bool) {
        guard case .busy(.waiting, let download) = state else { return }
        if closes { isDraining = true }
        switch body {
        case .none: state = .busy(.sent, download)
        case .present: state = .busy(.sending, download)
        case .afterContinue: state = .busy(.awaitingContinue, download)
        }
    }

    /// Records that the head could not be written. No byte of the request was sent.
    mutating func headHasNotLeft() {
        if case .busy(let upload, .nothing) = state, upload == .sent || upload == .awaitingContinue { state = .busy(.waiting, .nothing) }
    }

    /// Ends the wait for 100 (Continue). Returns true if the body follows now.
    mutating func continueUpload() -> Bool {
        guard case .busy(.awaitingContinue, let download) = state else { return false }
        state = .busy(.sending, download)
        return true
    }

    /// Records that the last byte of the request is handed to the channel.
    ///
    /// - Returns: the end of the exchange, if the whole response was already received; `nil` if the response is not complete.
    mutating func finishUpload() -> End? {
        guard case .busy(.sending, let download) = state else { return nil }
        guard download == .ended else {
            state = .busy(.sent, download)
            return nil
        }
        state = isDraining ? .closed : .idle
        return isDraining ? .close : .reuse
    }

    var isAwaitingContinue: Bool { if case .busy(.awaitingContinue, _) = state { true } else { false } }

    var isUploading: Bool {
        switch state {
        case .busy(.sending, _), .busy(.awaitingContinue, _): true
        default: false
        }
    }

    // MARK: The response

    /// Records that bytes were received.
    ///
    /// - Returns: false if no bytes were expected. If the result is false, the caller must close the connection.
    mutating func receiveBytes() -> Bool {
        switch state {
        case .busy(.waiting, _): return false
        case .busy(let upload, .nothing): state = .busy(upload, .head)
        case .busy(_, .ended):
            isDraining = true
            return false
        case .busy: break
        case .upgraded(let inputEnded, _): return !inputEnded
        case .idle, .closed:
            isDraining = true
            return false
        }
        return true
    }

    /// Records that the head of the final response was received.
    ///
    /// - Returns: whether the upload stops, because the server has refused the request, or did not ask for the body.
    mutating func receiveHead(status: Int, isPersistent: Bool) -> Bool {
        guard case .busy(let upload, _) = state else { return false }
        if !isPersistent { isDraining = true }
        let stops = upload == .awaitingContinue || (upload == .sending && status >= 300)
        state = .busy(stops ? .stopped : upload, .body)
        return stops
    }

    /// The end of an exchange whose whole response was received.
    enum End: Sendable, Equatable {
        /// Another exchange may use the connection.
        case reuse
        case close
        /// The server accepted the request before the request was complete. After the rest of the request is sent, the exchange
        /// is over.
        case uploadContinues
    }

    /// Records that the last byte of the response was received.
    ///
    /// - Parameter hasMore: whether bytes follow the response in the received data.
    mutating func receiveEnd(hasMore: Bool) -> End {
        guard case .busy(let upload, _) = state else { return .close }
        if hasMore || upload != .sent && upload != .sending { isDraining = true }
        if upload == .sending, !isDraining {
            state = .busy(.sending, .ended)
            return .uploadContinues
        }
        state = isDraining ? .closed : .idle
        return isDraining ? .close : .reuse
    }

    /// Records the end of the connection, which is also the end of the response.
    mutating func recordEndOfConnection() { isDraining = true }

    // MARK: Another protocol

    /// Records that the server accepted the change of the protocol (101).
    ///
    /// - Returns: false if the request is not complete. A server can't accept the change before the request is complete.
    mutating func upgrade() -> Bool {
        guard case .busy(.sent, .head) = state else { return false }
        isDraining = true
        state = .upgraded(inputEnded: false, outputEnded: false)
        return true
    }

    var isUpgraded: Bool { if case .upgraded = state { true } else { false } }

    /// Ends the server's direction of an upgraded connection. Returns whether both directions have ended. If both have ended, the caller
    /// must close the connection.
    mutating func inputEnds() -> Bool {
        guard case .upgraded(_, let outputEnded) = state else { return false }
        state = .upgraded(inputEnded: true, outputEnded: outputEnded)
        return outputEnded
    }

    /// Ends this side's direction of an upgraded connection. Returns whether both directions have ended. If both have ended, the caller
    /// must close the connection.
    mutating func outputEnds() -> Bool {
        guard case .upgraded(let inputEnded, _) = state else { return false }
        state = .upgraded(inputEnded: inputEnded, outputEnded: true)
        return inputEnded
    }

    /// Returns whether the end of an upgraded connection is orderly. Must be called only if the connection has ended without an error.
    ///
    /// - Parameter isSecure: whether the connection has TLS. Over TLS, a connection ends without an error only after a `close_notify` of
    ///   the server. Over TCP, a failed write can also end the connection without an error. Therefore, over TCP, the close is orderly only
    ///   if this side has ended writing.
    func endsInOrder(isSecure: Bool) -> Bool {
        if case .upgraded(_, let outputEnded) = state { isSecure || outputEnded } else { false }
    }

    // MARK: The end

    /// Closes the connection, for any reason. Returns the progress of the current exchange; `nil` if there is no exchange.
    mutating func close() -> ExchangePosition? {
        defer { (state, isDraining) = (.closed, true) }
        return position
    }

    var position: ExchangePosition? {
        if isUpgraded { return ExchangePosition(.over, .body) }
        guard case .busy(let upload, let download) = state else { return nil }
        let request: ExchangePosition.RequestProgress =
            switch upload {
            case .waiting: .unsent
            case .awaitingContinue, .sending: .inProgress
            case .sent, .stopped: .over
            }
        let response: ExchangePosition.ResponseProgress =
            switch download {
            case .nothing: .nothing
            case .head: .begun
            case .body, .ended: .body
            }
        return ExchangePosition(request, response, mayBeStale: exchangesStarted > 1 && download == .nothing)
    }
}
#endif
