import Errand
import Foundation
import Synchronization

/// Shows the progress of several transfers on standard error: on a terminal a bar for each transfer in progress, elsewhere plain lines.
final class TransferBoard: Sendable {
    enum Style: Sendable {
        case bars
        case lines
        case silent

        /// - Parameter isAnimated: whether the terminal can move its cursor, and escape codes are wanted.
        init(isAnimated: Bool, isSilent: Bool, isVerbose: Bool) {
            // The lines of `-v` would break the bars.
            self = isSilent ? .silent : isAnimated && !isVerbose ? .bars : .lines
        }
    }

    /// The bars on the terminal.
    struct Picture: Sendable {
        /// The longest name that is shown.
        static let nameLimit = 24

        /// By the number of the transfer.
        var rows: [Int: TransferRow] = [:]
        /// The number of transfers that have neither begun nor ended.
        var waiting = 0
        /// The number of lines on the terminal.
        private var shown = 0

        /// The lines of the transfers in progress, and a line about the others.
        func lines(width: Int) -> [String] {
            let rows = rows.sorted { $0.key < $1.key }.map(\.value)
            let nameWidth = min(rows.map { Columns.count($0.name) }.max() ?? 0, Self.nameLimit, max(0, width / 3))
            let bars = rows.map { $0.bar(width: width, nameWidth: nameWidth) }
            guard waiting > 0 else { return bars }
            return bars + [Columns.cut("and \(waiting) more", to: max(0, width - 1))]
        }

        /// The text that replaces the lines on the terminal. The cursor is always at the start of the line after them.
        ///
        /// - Parameter message: a line that stays above the bars.
        mutating func frame(width: Int, message: String? = nil) -> String {
            let lines = lines(width: width)
            var text = shown > 0 ? "\u{1B}[\(shown)A" : ""
            for line in (message.map { [$0] } ?? []) + lines { text += "\u{1B}[2K\(line)\n" }
            shown = lines.count
            return text + "\u{1B}[J"
        }
    }

    private struct State {
        var picture = Picture()
        var lines: [Int: TransferLines] = [:]
        var hasChanged = false
    }

    /// The shortest time between two pictures.
    static let interval: Duration = .milliseconds(100)

    private let style: Style
    private let start = ContinuousClock.now
    private let state: Mutex<State>

    /// - Parameter count: the number of transfers.
    init(style: Style, count: Int) {
        self.style = style
        var state = State()
        state.picture.waiting = count
        self.state = Mutex(state)
    }

    /// Redraws the bars until the task is cancelled.
    func animate() async {
        guard case .bars = style else { return }
        while (try? await Task.sleep(for: Self.interval)) != nil {
            state.withLock { state in
                guard state.hasChanged else { return }
                state.hasChanged = false
                Self.write(state.picture.frame(width: Terminal.width))
            }
        }
    }

    /// Begins a transfer.
    func begin(_ number: Int, name: String) {
        state.withLock { state in
            state.picture.rows[number] = TransferRow(name: name.shownSafely(limit: 100))
            state.picture.waiting -= 1
            state.hasChanged = true
        }
    }

    /// Sets the name and the first byte of a transfer, when they are known.
    func start(_ number: Int, name: String, at offset: Int64) {
        state.withLock { state in
            state.picture.rows[number]?.name = name.shownSafely(limit: 100)
            state.picture.rows[number]?.offset = offset
            state.hasChanged = true
        }
    }

    /// Shows a state of a transfer.
    func show(_ transfer: TransferState, of number: Int) {
        state.withLock { state in
            guard var row = state.picture.rows[number] else { return }
            row.update(transfer)
            guard row != state.picture.rows[number] else { return }
            state.picture.rows[number] = row
            state.hasChanged = true
            guard case .lines = style, let line = state.lines[number, default: TransferLines()].line(for: row, at: start.duration(to: .now))
            else { return }
            Terminal.say(line)
        }
    }

    /// Removes a transfer, and writes a line about its result.
    ///
    /// - Parameters:
    ///   - isMessage: whether the line is a message about a failure, which the caller shows even without progress.
    func end(_ number: Int, _ line: String?, isMessage: Bool = false) {
        state.withLock { state in
            state.picture.rows[number] = nil
            switch style {
            case .bars: Self.write(state.picture.frame(width: Terminal.width, message: line))
            case .lines: if let line { Terminal.say(line) }
            case .silent: if isMessage, let line { Terminal.say(line) }
            }
        }
    }

    /// Removes all bars.
    func clear() {
        guard case .bars = style else { return }
        state.withLock { state in
            (state.picture.rows, state.picture.waiting) = ([:], 0)
            Self.write(state.picture.frame(width: Terminal.width))
        }
    }

    private static func write(_ text: String) { try? Terminal.write(Data(text.utf8), to: 2, named: "standard error") }
}

extension Terminal {
    /// The number of columns of the terminal of standard error; 80 if it is not known.
    static var width: Int {
        var size = winsize()
        guard ioctl(2, UInt(TIOCGWINSZ), &size) == 0, size.ws_col > 0 else { return 80 }
        return Int(size.ws_col)
    }
}
