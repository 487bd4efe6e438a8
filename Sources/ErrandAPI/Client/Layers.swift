// All that typed calls use of the library's middleware. No other file of this module imports that module: `scripts/check-imports` checks it.

internal import ErrandCore
internal import ErrandMiddleware

extension HTTPStack {
    /// This stack, in which every call passes a `validateStatus`: that of the stack, or one around it, which judges what no conditional one inside has judged.
    var validatingStatus: HTTPStack {
        alwaysPasses(.validateStatus) ? self : wrapped(by: ValidateStatusMiddleware.unlessJudged)
    }
}

extension RequestOptions {
    /// Turns off each layer that repeats a request or shares its exchange, unless the option is set.
    mutating func turnOffRepetitionUnlessSet() {
        if case .inherited = retry { retry = .off }
        if case .inherited = hedge { hedge = .off }
        if case .inherited = coalesce { coalesce = .off }
    }
}
