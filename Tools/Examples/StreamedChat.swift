import Errand
import Foundation

/// A chat with a language model, whose reply appears while the server streams it.
///
/// The API is the chat completions API of many servers: a POST whose response is an event stream, with a JSON object in each event,
/// and `[DONE]` at the end.
///
/// In SwiftUI, make `Conversation` `@Observable`, and call `ask(_:)` in a task of the view. When that task is cancelled, Errand
/// closes the connection, so that the server stops writing. The conversation keeps the text received so far.
enum StreamedChat {
    // MARK: - Messages on the wire

    nonisolated struct Message: Codable, Sendable, Equatable {
        var role: String
        var content: String
    }

    nonisolated struct Question: Encodable, Sendable {
        var model = "small"
        var messages: [Message]
        var stream = true
    }

    // One event: a piece of the reply
    nonisolated struct Chunk: Decodable, Sendable {
        nonisolated struct Choice: Decodable, Sendable {
            var delta: Delta
        }

        nonisolated struct Delta: Decodable, Sendable {
            var content: String?
        }

        var choices: [Choice]
        var text: String { choices.first?.delta.content ?? "" }
    }

    static func answer(to messages: [Message]) -> Endpoint<Void> {
        .post("/chat/completions", body: .json(Question(messages: messages)))
    }

    // The key goes only to this server. The call has no timeout, because a stream can be long. The policy limits the silence of a stream to
    // a minute
    static func client(_ server: URL, key: String) -> APIClient {
        APIClient(.default.server(server, headers: [.authorization: "Bearer \(key)"]))
    }

    // If the server stays busy, the stream connects at most five more times
    static let policy = EventStreamPolicy(maxReconnects: 5, silenceTimeout: .seconds(60))

    // MARK: - Values for the view

    enum State: Sendable, Equatable {
        case ready
        case connecting
        case responding
        // The server is busy (429, or 503 with `Retry-After`), or there was no connection: the stream connects again
        case waiting(String)
        // The text is incomplete or missing
        case failed(String)
    }

    @MainActor final class Conversation {
        private(set) var messages: [Message] = []
        private(set) var state = State.ready {
            didSet { if state != oldValue { onChange(state) } }
        }
        private let client: APIClient
        private let onChange: @MainActor (State) -> Void

        init(client: APIClient, onChange: @escaping @MainActor (State) -> Void = { _ in }) {
            (self.client, self.onChange) = (client, onChange)
        }

        func ask(_ text: String) async {
            messages.append(Message(role: "user", content: text))
            let (states, continuation) = AsyncStream.makeStream(of: EventStreamState.self)
            let answer = client.events(
                StreamedChat.answer(to: messages), as: Chunk.self, terminator: "[DONE]", policy: StreamedChat.policy,
                onState: { continuation.yield($0) })
            // The reading task reports the states, and this stream passes the states to the main actor
            async let shown: Void = show(states)
            let end = await read(answer)
            continuation.finish()
            await shown
            state = end
        }

        private func read(_ answer: DecodedEventStream<Chunk>) async -> State {
            let place = messages.count
            do {
                for try await chunk in answer where !chunk.text.isEmpty {
                    if messages.count == place { messages.append(Message(role: "assistant", content: "")) }
                    messages[place].content += chunk.text
                }
                return .ready
            } catch is CancellationError {
                return .ready
            } catch let error as StatusError where error.status == .unauthorized {
                return .failed("Please check your key.")
            } catch let error as EventStreamError where error.code == .incomplete {
                return .failed("The answer was cut off.")
            } catch {
                return .failed(error.localizedDescription)
            }
        }

        private func show(_ states: AsyncStream<EventStreamState>) async {
            for await next in states {
                switch next {
                case .connecting: state = .connecting
                case .open: state = .responding
                case .waiting: state = .waiting("\(next)")
                case .closed: break
                }
            }
        }
    }
}
