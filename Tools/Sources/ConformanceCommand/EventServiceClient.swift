import Errand
import ErrandNIO
import Foundation
import Synchronization

/// Reads one event stream, and reports its events and errors.
final class EventServiceClient: Sendable {
    private enum Signal: Sendable {
        case restart
        case stop
    }

    private struct Report: Encodable, Sendable {
        struct Event: Encodable, Sendable {
            var type: String
            var data: String
            var id: String
        }

        var kind: String
        var event: Event?
        var comment: String?
        var error: String?
    }

    private let url: HTTPURL
    private let endpoint: Endpoint<Void>
    private let policy: EventStreamPolicy
    private let callbackURL: String
    private let signals: AsyncStream<Signal>
    private let signal: AsyncStream<Signal>.Continuation
    private let reports: AsyncStream<Report>
    private let report: AsyncStream<Report>.Continuation
    /// The last event ID, from which a restarted stream continues.
    private let lastEventID: Mutex<String>

    init(_ parameters: EventService.Parameters) throws {
        url = try HTTPURL(parameters.streamUrl)
        var headers = HTTPFields()
        for (name, value) in parameters.headers ?? [:] { if let name = HTTPField.Name(name) { headers[name] = value } }
        endpoint = Endpoint(
            HTTPRequest.Method(parameters.method ?? "GET") ?? .get, PathTemplate(verbatim: url.target), headers: headers,
            body: parameters.body.map { .text($0, contentType: headers[.contentType] ?? "text/plain") } ?? .none, decoding: .none)
        policy = EventStreamPolicy(
            reconnectionTime: .milliseconds(parameters.initialDelayMs ?? 1000), backoff: .immediate,
            silenceTimeout: parameters.readTimeoutMs.map { .milliseconds($0) }, eventLimitBytes: 32 * 1024 * 1024,
            resendsNonIdempotent: true)
        lastEventID = Mutex(parameters.lastEventId ?? "")
        callbackURL = parameters.callbackUrl
        (signals, signal) = AsyncStream.makeStream()
        (reports, report) = AsyncStream.makeStream()
    }

    func restart() { signal.yield(.restart) }
    func stop() { signal.yield(.stop) }

    /// Reads the stream until it is over, or the client is stopped.
    func run(over transport: NIOTransport) async {
        await withTaskGroup(of: Void.self) { group in
            group.addTask { await self.send(over: transport) }
            group.addTask { await self.read(over: transport) }
            // The end of the stream does not end the client: the harness may still send commands to it.
            await group.next()
            group.cancelAll()
        }
    }

    private func read(over transport: NIOTransport) async {
        let client = APIClient(transport.redirect().server(url.origin.description))
        var signals = signals.makeAsyncIterator()
        while true {
            // Not a child task, because only this task is cancelled. It is always awaited.
            let reading = Task { await self.readOnce(client) }
            let signal = await signals.next()
            reading.cancel()
            await reading.value
            guard signal == .restart else { return report.finish() }
        }
    }

    /// Reads the stream until it ends or the task is cancelled.
    private func readOnce(_ client: APIClient) async {
        let report = report
        let stream = client.events(
            endpoint, lastEventID: lastEventID.withLock { $0 }, policy: policy,
            onComment: { report.yield(Report(kind: "comment", comment: $0)) },
            onState: { state in
                if case .waiting(_, let error?) = state { report.yield(Report(kind: "error", error: "\(error)")) }
            })
        var events = stream.makeAsyncIterator()
        do {
            while let event = try await events.next() {
                report.yield(Report(kind: "event", event: .init(type: event.type, data: event.data, id: event.lastEventID)))
                lastEventID.withLock { $0 = events.lastEventID }
            }
        } catch is CancellationError {
        } catch {
            report.yield(Report(kind: "error", error: "\(error)"))
        }
        lastEventID.withLock { $0 = events.lastEventID }
    }

    /// Sends the reports, one after the other.
    private func send(over transport: NIOTransport) async {
        var number = 0
        for await report in reports {
            number += 1
            do {
                let body = RequestBody.data(try JSONEncoder().encode(report))
                var request = try Request(.post, url: "\(callbackURL)/\(number)", body: body)
                request.headers[.contentType] = "application/json"
                _ = try await transport.send(request).body.collect()
            } catch {
                // The harness has gone.
                return
            }
        }
    }
}
