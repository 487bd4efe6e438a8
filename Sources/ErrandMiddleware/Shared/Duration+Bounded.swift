extension Duration {
    /// Longer than any request lasts, and short enough for every clock: a hundred years.
    private static let longest = Duration.seconds(100 * 365 * 86_400 as Int64)

    /// This duration, at most a hundred years: clocks end the process where an instant does not fit their numbers.
    var bounded: Duration { min(self, .longest) }
}
