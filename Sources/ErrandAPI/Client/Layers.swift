// Only this file of the module uses ErrandMiddleware. `scripts/check-imports` checks that no other file imports that module.

internal import ErrandCore
internal import ErrandMiddleware

extension HTTPStack {
    /// This stack with a `validateStatus` for every call. If no `validateStatus` of the stack applies to all requests, this property adds a
    /// `validateStatus` around the stack. The added layer checks only responses that no inner, conditional `validateStatus` has checked.
    var validatingStatus: HTTPStack {
        alwaysPasses(.validateStatus) ? self : wrapped(by: ValidateStatusMiddleware.unlessJudged)
    }
}

extension RequestOptions {
    /// Turns off `retry`, `hedge` and `coalesce` if the request does not set their options. These layers repeat a request or
    /// share its exchange.
    mutating func turnOffRepetitionUnlessSet() {
        if case .inherited = retry { retry = .off }
        if case .inherited = hedge { hedge = .off }
        if case .inherited = coalesce { coalesce = .off }
    }
}
